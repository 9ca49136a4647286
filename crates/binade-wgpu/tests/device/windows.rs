//! Windows of micro-batches in reused memory, in parts, and with subnormal sums.

use crate::{
    shared::windows::{B, batch},
    support::{Device, Result, narrow, set, told, wgpu},
};
use binade_core::DType;
use binade_core::ops::Fill;
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState, Scaler};

crate::tests![a_sum_begins_with_the_first_good_micro_batch, subnormal_sums_are_kept,];

/// Returns the sum of these micro-batches, good and bad ones, each made at a scale of 2^3.
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

fn a_sum_begins_with_the_first_good_micro_batch() -> Result {
    let none = summed(&wgpu(), &[(2, true)])?;
    assert_eq!(none, [None, None]);
    // A sum gets memory with old values, to which it must not add.
    for wgpu in [wgpu(), narrow()] {
        drop(vec![wgpu.fill(7.0, &[3000], DType::F32)?, wgpu.fill(7.0, &[B], DType::F32)?]);
        let batches = [(2, true), (4, true), (6, false)];
        assert_eq!(summed(&wgpu, &batches)?, summed(&Cpu, &batches)?);
    }
    Ok(())
}

fn subnormal_sums_are_kept() -> Result {
    fn sum<D: Device>(device: &D) -> Result<Vec<u8>> {
        let scaler = Scaler::new(device.clone(), LossScale::dynamic())?;
        let mut window = scaler.accumulate(BadMicroBatch::Drop);
        for of in [[1, 0x8000_0003, 0x40_0000, 0x80_0000], [1, 1, 0x7f_ffff, 0x8080_0001]] {
            let grads = [("a", Some(of.map(f32::from_bits).to_vec()))];
            window.add(scaler.check_unscaled(set(device, &grads, DType::F32))?)?;
        }
        let sum = window.finish()?.ok_or("an empty window")?;
        let values = device.materialise(sum.grads().clone())?;
        Ok(device.bits(values[0].value.as_ref().ok_or("missing")?))
    }
    assert_eq!(sum(&wgpu())?, sum(&Cpu)?);
    Ok(())
}
