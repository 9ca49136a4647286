//! Windows of micro-batches beyond the kit: waiting, and windows whose sums are micro-batches of another.

use crate::support::{Device, Result, gpu, noise, own, set, vector};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, LossScale, Scaler};

crate::tests![
    a_window_reads_nothing,
    a_window_of_windows_is_the_cpus_bit_for_bit,
    a_sum_of_scaled_gradients_is_divided_as_on_the_cpu,
];

/// Elements of the second parameter: of a size that nothing else has here.
pub(crate) const B: usize = 700;

/// Micro-batches of two parameters, the second of which has no gradient in every other one.
pub(crate) fn batch(number: u64, bad: bool) -> [(&'static str, Option<Vec<f32>>); 2] {
    let mut first = noise(number, 3000);
    if bad {
        first[2999] = f32::INFINITY;
    }
    [("a", Some(first)), ("b", number.is_multiple_of(2).then(|| noise(number + 99, B)))]
}

fn a_window_reads_nothing() -> Result {
    let gpu = own();
    let scaler = Scaler::new(gpu.clone(), LossScale::dynamic())?;
    let before = gpu.counters().syncs;
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for number in 0..4 {
        window.add(scaler.check_unscaled(set(&gpu, &batch(number, number == 2), DType::F32))?)?;
    }
    let _sum = window.finish()?.ok_or("an empty window")?;
    assert_eq!(gpu.counters().syncs, before);
    Ok(())
}

fn a_window_of_windows_is_the_cpus_bit_for_bit() -> Result {
    fn sum<D: Device>(device: &D) -> Result<Vec<Vec<u8>>> {
        let scaler = Scaler::new(device.clone(), LossScale::dynamic())?;
        let mut outer = scaler.accumulate(BadMicroBatch::Drop);
        // The only micro-batch of the first window is dropped, the second has no gradient of `b`, and the last none that is good.
        for numbers in [&[2][..], &[1, 3], &[4, 5], &[1, 2]] {
            // Memory that sums may come to lie in is not zero.
            drop([(); 32].map(|()| vector(device, &[7.0; B], DType::F32)));
            let mut inner = scaler.accumulate(BadMicroBatch::Drop);
            for number in numbers {
                let grads = set(device, &batch(*number, *number == 2), DType::F16);
                inner.add(scaler.check_unscaled(grads)?)?;
            }
            outer.add(inner.finish()?.ok_or("an empty window")?)?;
        }
        let sum = outer.finish()?.ok_or("an empty window")?;
        let values = device.materialise(sum.grads().clone())?;
        let values = values.iter().filter_map(|entry| entry.value.as_ref());
        Ok(values.map(|tensor| device.bits(tensor)).collect())
    }
    assert_eq!(sum(&gpu())?, sum(&Cpu)?);
    Ok(())
}

fn a_sum_of_scaled_gradients_is_divided_as_on_the_cpu() -> Result {
    fn sum<D: Device>(device: &D) -> Result<Vec<Vec<u8>>> {
        let scaler = Scaler::new(device.clone(), LossScale::fixed(1024.0)?)?;
        let loss = vector(device, &[1.0], DType::F32);
        let mut window = scaler.sum_scaled();
        for number in 0..3 {
            window.backward(&loss, |_| Ok(set(device, &batch(number, false), DType::F16)))?;
        }
        let sum = window.unscale()?.ok_or("an empty window")?;
        let values = device.materialise(sum.grads().clone())?;
        let values = values.iter().filter_map(|entry| entry.value.as_ref());
        Ok(values.map(|tensor| device.bits(tensor)).collect())
    }
    assert_eq!(sum(&gpu())?, sum(&Cpu)?);
    Ok(())
}
