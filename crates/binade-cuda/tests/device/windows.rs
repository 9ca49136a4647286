//! Windows of micro-batches, against the CPU.

use crate::support::{Device, Grads, Result, cuda, noise, own, set, vector};
use binade_core::{DType, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, LossScale, Scaler};
use binade_master_weights::{MasterOptimizer, Plan, UpdateRule};

crate::tests![
    windows_with_bad_micro_batches_are_the_cpus_bit_for_bit,
    a_window_reads_nothing,
    a_windows_outcome_is_one_wait,
    a_window_of_windows_is_the_cpus_bit_for_bit,
    a_sum_that_overflows_skips,
];

/// Elements of the second parameter: of a size that nothing else has here.
const B: usize = 700;

/// Micro-batches of two parameters, the second of which has no gradient in every other one.
fn batch(number: u64, bad: bool) -> [(&'static str, Option<Vec<f32>>); 2] {
    let mut first = noise(number, 3000);
    if bad {
        first[2999] = f32::INFINITY;
    }
    [("a", Some(first)), ("b", number.is_multiple_of(2).then(|| noise(number + 99, B)))]
}

/// Parameters after a window of each pattern of good and bad micro-batches, and what each said.
pub(crate) fn train<D: Device>(
    device: &D,
    rule: UpdateRule,
    bad: BadMicroBatch,
) -> Result<(Vec<Vec<u8>>, Vec<String>)> {
    let mut scaler = Scaler::new(device.clone(), LossScale::dynamic())?;
    let params = [("a", 3000), ("b", B)];
    let params =
        params.map(|(name, len)| Named::new(name, vector(device, &noise(7, len), DType::F16)));
    let mut optimizer = MasterOptimizer::new(device.clone(), params.into(), Plan::new(rule)?)?;
    let loss = vector(device, &[1.0], DType::F32);
    let mut said = Vec::new();
    for pattern in 0..8_u64 {
        let mut window = scaler.accumulate(bad);
        for number in 0..3 {
            let batch = batch(10 * pattern + number, pattern >> number & 1 == 1);
            let grads = scaler.scale(&loss)?.backward(|_| Ok(set(device, &batch, DType::F16)))?;
            window.add(grads.unscale()?)?;
        }
        let sum = window.finish()?.ok_or("an empty window")?;
        let step = sum.clip_norm(0.25)?.step(&mut optimizer)?;
        said.push(format!("{:?}", scaler.update(step)?.resolve()?));
    }
    Ok((optimizer.params.iter().map(|param| device.bits(&param.value)).collect(), said))
}

fn windows_with_bad_micro_batches_are_the_cpus_bit_for_bit() -> Result {
    let ways = [BadMicroBatch::Drop, BadMicroBatch::SkipWindow];
    for (bad, rule) in ways
        .into_iter()
        .flat_map(|bad| [UpdateRule::adamw(1e-2), UpdateRule::sgd(0.1)].map(|rule| (bad, rule)))
    {
        let (want, wanted) = train(&Cpu, rule, bad)?;
        let (got, said) = train(&cuda(), rule, bad)?;
        for (got, want) in said.iter().zip(&wanted) {
            assert_eq!(got, want, "{bad:?} {rule:?}");
        }
        assert_eq!(got, want, "{bad:?} {rule:?}");
    }
    Ok(())
}

fn a_window_reads_nothing() -> Result {
    let cuda = own();
    let scaler = Scaler::new(cuda.clone(), LossScale::dynamic())?;
    let before = cuda.ledger().syncs;
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for number in 0..4 {
        window.add(scaler.never_scaled(set(&cuda, &batch(number, number == 2), DType::F32))?)?;
    }
    let _sum = window.finish()?.ok_or("an empty window")?;
    assert_eq!(cuda.ledger().syncs, before);
    Ok(())
}

/// Which parameters had no gradient is in the report, and not read behind whatever has been queued since.
fn a_windows_outcome_is_one_wait() -> Result {
    fn missing<D: Device>(device: &D) -> Result<Vec<String>> {
        let mut scaler = Scaler::new(device.clone(), LossScale::none())?;
        let params = [("a", 3000), ("b", B)];
        let params =
            params.map(|(name, len)| Named::new(name, vector(device, &noise(7, len), DType::F32)));
        let plan = Plan::new(UpdateRule::sgd(1.0))?;
        let mut optimizer = MasterOptimizer::new(device.clone(), params.into(), plan)?;
        let mut window = scaler.accumulate(BadMicroBatch::Drop);
        // `b` has a gradient in the second alone, which is bad.
        for (number, bad) in [(1, false), (2, true)] {
            window.add(scaler.never_scaled(set(device, &batch(number, bad), DType::F32))?)?;
        }
        let step = window.finish()?.ok_or("an empty window")?.step(&mut optimizer)?;
        let step = scaler.update(step)?.resolve()?;
        let missing = &step.report().steps[0].parts[2].finding.missing;
        Ok(missing.iter().map(ToString::to_string).collect())
    }
    let cuda = cuda();
    let before = cuda.ledger().syncs;
    assert_eq!(missing(&cuda)?, ["b"]);
    assert_eq!(cuda.ledger().syncs - before, 1);
    assert_eq!(missing(&Cpu)?, ["b"]);
    Ok(())
}

fn a_window_of_windows_is_the_cpus_bit_for_bit() -> Result {
    fn sum<D>(device: &D) -> Result<Vec<Vec<u8>>>
    where
        D: Device,
        Grads<D>: Clone,
    {
        let scaler = Scaler::new(device.clone(), LossScale::dynamic())?;
        let mut outer = scaler.accumulate(BadMicroBatch::Drop);
        // The only micro-batch of the first window is dropped, the second has no gradient of `b`, and the last none that is good.
        for numbers in [&[2][..], &[1, 3], &[4, 5], &[1, 2]] {
            // Memory that sums may come to lie in is not zero.
            drop([(); 32].map(|()| vector(device, &[7.0; B], DType::F32)));
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
    assert_eq!(sum(&cuda())?, sum(&Cpu)?);
    Ok(())
}

fn a_sum_that_overflows_skips() -> Result {
    fn said<D: Device>(device: &D) -> Result<String> {
        let mut scaler = Scaler::new(device.clone(), LossScale::none())?;
        let params = vec![Named::new("w", vector(device, &[1.0, 1.0], DType::F32))];
        let plan = Plan::new(UpdateRule::sgd(1.0))?;
        let mut optimizer = MasterOptimizer::new(device.clone(), params, plan)?;
        let mut window = scaler.accumulate(BadMicroBatch::Drop);
        for _ in 0..2 {
            let grads = set(device, &[("w", Some(vec![1.0, 3e38]))], DType::F32);
            window.add(scaler.never_scaled(grads)?)?;
        }
        let step = window.finish()?.ok_or("an empty window")?.step(&mut optimizer)?;
        Ok(format!("{:?}", scaler.update(step)?.resolve()?))
    }
    let said_here = said(&cuda())?;
    assert_eq!(said_here, said(&Cpu)?);
    assert!(said_here.starts_with("Skipped"), "{said_here}");
    Ok(())
}
