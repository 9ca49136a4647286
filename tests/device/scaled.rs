//! Masters in `f16` with an exponent a tensor, against the CPU: the values that decide the exponent, and its moves.

use crate::support::{Compared, Device, Result, coarse, gpu, noise, set, there, told, vector};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, LossScale, Scaler};
use binade_master_weights::{
    HostParamState, Master, MasterOptimizer, MasterStore, OptimizerConfig, UpdateRule,
};

crate::tests![
    the_exponent_is_that_of_the_largest_finite_magnitude,
    what_no_good_micro_batch_had_keeps_its_exponent,
];

fn config(rule: UpdateRule) -> Result<OptimizerConfig> {
    Ok(OptimizerConfig::new(rule)?.with_store(MasterStore::ScaledF16).with_storage(DType::BF16))
}

fn exponent(slot: &HostParamState) -> Option<i32> {
    if let Master::Scaled { exponent, .. } = slot.master { Some(exponent) } else { None }
}

fn the_exponent_is_that_of_the_largest_finite_magnitude() -> Result {
    let gpu = gpu();
    let cases: [(&[f32], i32); 10] = [
        (&[], 0),
        (&[0.0, -0.0], 0),
        (&[f32::INFINITY, f32::NEG_INFINITY], 0),
        (&[1.0, -0.5, f32::INFINITY], 14),
        (&[0.1, -1.999_999_9], 14),
        (&[0.1, -2.0], 13),
        (&[f32::MAX, 1.0], -113),
        (&[2.0_f32.powi(-111), 1e-38], 125),
        (&[2.0_f32.powi(-112), f32::MIN_POSITIVE], 125),
        (&[f32::from_bits(1), -f32::from_bits(0x007f_ffff)], 125),
    ];
    for (values, expected) in cases {
        let start = [("w", values.to_vec())];
        let mut run = Compared::new(&gpu, &start, DType::F32, &config(UpdateRule::sgd(0.5))?);
        assert_eq!(exponent(&there(&run.gpu, "w")?), Some(expected), "{values:?}");
        run.assert_same(&format!("{values:?}"))?;
        // A driver may make 0 of subnormal values.
        if values.iter().any(|x| *x != 0.0 && x.abs() < 1e-30) {
            continue;
        }
        // The steps go down to half, and up again.
        for factor in [1.0, -2.0] {
            let finite = |x: &f32| if x.is_finite() { factor * x } else { 1.0 };
            run.step(DType::F32, &[("w", values.iter().map(finite).collect())])?;
            run.assert_same(&format!("{values:?} {factor}"))?;
        }
    }
    Ok(())
}

/// A window in which only a bad micro-batch had a gradient of `b`.
fn window<D: Device>(device: &D, optimizer: &mut MasterOptimizer<D>) -> Result {
    let mut scaler = Scaler::new(device.clone(), LossScale::dynamic()).map_err(told)?;
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    let good = [("a", Some(vec![0.25; 300])), ("b", None)];
    let bad = [("a", Some(vec![f32::INFINITY; 300])), ("b", Some(vec![0.25; 7]))];
    for batch in [good, bad] {
        let loss = vector(device, &[1.0], DType::F32);
        let grads = scaler.scale(&loss).map_err(told)?;
        let grads = grads.backward(|_| Ok(set(device, &batch, DType::F32))).map_err(told)?;
        window.add(grads.unscale().map_err(told)?).map_err(told)?;
    }
    let sum = window.finish().map_err(told)?.ok_or("an empty window")?;
    let pending = sum.step(optimizer).map_err(told)?;
    scaler.update(pending).map_err(told)?.ignore();
    Ok(())
}

fn what_no_good_micro_batch_had_keeps_its_exponent() -> Result {
    let gpu = gpu();
    let start = [("a", coarse(1, 300)), ("b", noise(2, 7))];
    let config = config(UpdateRule::sgd(1.0))?.with_lost_updates(true);
    let mut run = Compared::new(&gpu, &start, DType::F32, &config);
    let before = run.gpu.save()?;
    window(&gpu, &mut run.gpu)?;
    window(&Cpu, &mut run.cpu)?;
    let after = run.gpu.save()?;
    assert_eq!(after[1], before[1]);
    assert_ne!(after[0], before[0]);
    run.assert_same("a window")
}
