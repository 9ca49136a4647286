//! Windows of micro-batches, against the CPU.

use crate::shared::windows::{B, batch};
use crate::support::{Device, Result, cuda, noise, optimizer, set, vector};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, LossScale, Scaler};
use binade_master_weights::{OptimizerConfig, UpdateRule};

crate::tests![
    windows_with_bad_micro_batches_are_the_cpus_bit_for_bit,
    a_windows_outcome_is_one_wait,
];

fn params() -> [(&'static str, Vec<f32>); 2] {
    [("a", 3000), ("b", B)].map(|(name, len)| (name, noise(7, len)))
}

/// Parameters after three windows of each pattern of good and bad micro-batches, while the scale grows and backs off, and each outcome.
pub(crate) fn train<D: Device>(
    device: &D,
    rule: UpdateRule,
    bad: BadMicroBatch,
) -> Result<(Vec<Vec<u8>>, Vec<String>)> {
    let mut scaler = Scaler::new(device.clone(), LossScale::dynamic().with_growth_interval(2)?)?;
    let mut optimizer = optimizer(device, &params(), DType::F16, OptimizerConfig::new(rule)?);
    let loss = vector(device, &[1.0], DType::F32);
    let mut said = Vec::new();
    for step in 0..24_u64 {
        let mut window = scaler.accumulate(bad);
        for number in 0..3 {
            let batch = batch(10 * step + number, ((step % 8) >> number) & 1 == 1);
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

/// Which parameters had no gradient is in the report, and not read behind whatever has been queued since.
fn a_windows_outcome_is_one_wait() -> Result {
    fn missing<D: Device>(device: &D) -> Result<Vec<String>> {
        let mut scaler = Scaler::new(device.clone(), LossScale::none())?;
        let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?;
        let mut optimizer = optimizer(device, &params(), DType::F32, config);
        let mut window = scaler.accumulate(BadMicroBatch::Drop);
        // `b` has a gradient in the second alone, which is bad.
        for (number, bad) in [(1, false), (2, true)] {
            window.add(scaler.check_unscaled(set(device, &batch(number, bad), DType::F32))?)?;
        }
        let step = window.finish()?.ok_or("an empty window")?.step(&mut optimizer)?;
        let step = scaler.update(step)?.resolve()?;
        let missing = &step.report().steps[0].parts[2].finding.missing;
        Ok(missing.iter().map(ToString::to_string).collect())
    }
    let cuda = cuda();
    let before = cuda.counters().syncs;
    assert_eq!(missing(&cuda)?, ["b"]);
    assert_eq!(cuda.counters().syncs - before, 1);
    assert_eq!(missing(&Cpu)?, ["b"]);
    Ok(())
}
