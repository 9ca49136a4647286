//! Windows of micro-batches, against the CPU.

use crate::support::{Device, Result, narrow, noise, own, set, wgpu};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState, Scaler};
use binade_ops::Fill;

crate::tests![
    a_window_reads_nothing,
    a_window_of_windows_is_the_cpus_bit_for_bit,
    a_sum_begins_with_the_first_good_micro_batch,
    bad_micro_batches_leave_no_trace_in_a_sum,
    subnormal_sums_are_kept,
];

/// Micro-batches of two parameters, the second of which has no gradient in every other one.
fn batch(number: u64, bad: bool) -> [(&'static str, Option<Vec<f32>>); 2] {
    let mut first = noise(number, 3000);
    if bad {
        first[2999] = f32::INFINITY;
    }
    [("a", Some(first)), ("b", number.is_multiple_of(2).then(|| noise(number + 99, 5)))]
}

fn a_window_reads_nothing() -> Result {
    let wgpu = own();
    let scaler = Scaler::new(wgpu.clone(), LossScale::dynamic())?;
    let before = wgpu.ledger().syncs;
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for number in 0..4 {
        window.add(scaler.never_scaled(set(&wgpu, &batch(number, number == 2), DType::F32))?)?;
    }
    let _sum = window.finish()?.ok_or("an empty window")?;
    assert_eq!(wgpu.ledger().syncs, before);
    Ok(())
}

fn a_window_of_windows_is_the_cpus_bit_for_bit() -> Result {
    fn sum<D: Device>(device: &D) -> Result<Vec<Vec<u8>>> {
        let scaler = Scaler::new(device.clone(), LossScale::dynamic())?;
        let mut outer = scaler.accumulate(BadMicroBatch::Drop);
        // The only micro-batch of the first window is dropped, and the second has no gradient of `b`.
        for numbers in [&[2][..], &[1, 3], &[4, 5]] {
            let mut inner = scaler.accumulate(BadMicroBatch::Drop);
            for number in numbers {
                let grads = set(device, &batch(*number, *number == 2), DType::F16);
                inner.add(scaler.never_scaled(grads)?)?;
            }
            outer.add(inner.finish()?.ok_or("an empty window")?)?;
        }
        let sum = outer.finish()?.ok_or("an empty window")?;
        let values = device.materialise(sum.grads().clone())?;
        let values = values.iter().filter_map(|entry| entry.value.as_ref());
        Ok(values.map(|tensor| device.bits(tensor)).collect())
    }
    assert_eq!(sum(&wgpu())?, sum(&Cpu)?);
    assert_eq!(sum(&narrow())?, sum(&Cpu)?);
    Ok(())
}

/// What a sum of these micro-batches is, good ones and bad ones, made at 2^3 each.
fn summed<D: Device>(device: &D, batches: &[(u64, bool)]) -> Result<Vec<Option<Vec<u8>>>> {
    let scale = device.upload_state(ScaleState::from_exponent(3)).map_err(told)?;
    let mut sum = None;
    for (number, bad) in batches {
        let mut grads = set(device, &batch(*number, *bad), DType::F16);
        let found = device.unscale(&mut grads, &scale).map_err(told)?;
        sum = Some(device.accumulate(sum, grads, &found).map_err(told)?);
    }
    let values = device.materialise(sum.ok_or("no micro-batch")?).map_err(told)?;
    Ok(values.iter().map(|entry| entry.value.as_ref().map(|it| device.bits(it))).collect())
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn a_sum_begins_with_the_first_good_micro_batch() -> Result {
    let none = summed(&wgpu(), &[(2, true)])?;
    assert_eq!(none, [None, None]);
    // What lies in memory that a sum is given, nobody has put there for it.
    for wgpu in [wgpu(), narrow()] {
        drop(vec![wgpu.fill(7.0, &[3000], DType::F32)?, wgpu.fill(7.0, &[5], DType::F32)?]);
        let batches = [(2, true), (4, true), (6, false)];
        assert_eq!(summed(&wgpu, &batches)?, summed(&Cpu, &batches)?);
    }
    Ok(())
}

fn bad_micro_batches_leave_no_trace_in_a_sum() -> Result {
    let batches = [(1, false), (2, false), (3, true), (4, false), (6, true), (5, false)];
    let want = summed(&Cpu, &batches)?;
    for wgpu in [wgpu(), narrow()] {
        assert_eq!(summed(&wgpu, &batches)?, want);
    }
    Ok(())
}

fn subnormal_sums_are_kept() -> Result {
    fn sum<D: Device>(device: &D) -> Result<Vec<u8>> {
        let scaler = Scaler::new(device.clone(), LossScale::dynamic())?;
        let mut window = scaler.accumulate(BadMicroBatch::Drop);
        for of in [[1, 0x8000_0003, 0x40_0000, 0x80_0000], [1, 1, 0x7f_ffff, 0x8080_0001]] {
            let grads = [("a", Some(of.map(f32::from_bits).to_vec()))];
            window.add(scaler.never_scaled(set(device, &grads, DType::F32))?)?;
        }
        let sum = window.finish()?.ok_or("an empty window")?;
        let values = device.materialise(sum.grads().clone())?;
        Ok(device.bits(values[0].value.as_ref().ok_or("missing")?))
    }
    assert_eq!(sum(&wgpu())?, sum(&Cpu)?);
    Ok(())
}
