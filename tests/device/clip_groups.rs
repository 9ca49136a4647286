//! Clipping by groups, beyond the kit: many groups, and windows.

use crate::support::{Device, Grads, Result, gpu, noise, optimizer, set};
use binade_core::{DType, FoundInf, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, ClipGroup, LossScale, Norm, ScaleState, Scaler};
use binade_master_weights::{OptimizerConfig, UpdateRule};

crate::tests![
    many_groups_of_odd_lengths_give_the_cpus_bits,
    a_windows_sum_is_clipped_by_groups_as_on_the_cpu,
];

type Set<'a> = &'a [(&'a str, Option<Vec<f32>>)];

fn group(names: &[&str], norm: Norm, max: f32) -> ClipGroup {
    ClipGroup::new(names.iter().copied(), norm, max)
}

/// Values and verdict after clipping a set that was made at 2^4.
fn clipped<D: Device>(
    device: &D,
    grads: Set<'_>,
    groups: &[ClipGroup],
) -> (Vec<Vec<u8>>, FoundInf) {
    let scale = device.upload_state(ScaleState::from_exponent(4)).unwrap();
    let mut grads: Grads<D> = set(device, grads, DType::F32);
    let mut verdict = device.unscale(&mut grads, &scale).unwrap();
    device.clip_groups(&mut grads, groups, &mut verdict).unwrap();
    let bits = |entry: Named<Option<D::Tensor>>| device.bits(&entry.value.unwrap());
    let values = device.materialise(grads).unwrap().into_iter().map(bits).collect();
    (values, device.read(&[&verdict], &scale).unwrap().0.remove(0))
}

/// More groups than chunks, in an order that is not the set's.
fn many_groups_of_odd_lengths_give_the_cpus_bits() -> Result {
    let names: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    let one = |(number, name)| -> (&str, _) {
        let len = 37 * number % 301;
        let (values, name): (_, &String) = (noise(number as u64, len), name);
        (name, Some(values))
    };
    let grads: Vec<_> = names.iter().enumerate().map(one).collect();
    let one = |(number, name): (u8, &String)| {
        let norm = if number.is_multiple_of(3) { Norm::Infinity } else { Norm::L2 };
        group(&[name], norm, 0.001 * f32::from(number))
    };
    let groups: Vec<_> = (1..).zip(names.iter().rev()).map(one).collect();
    let (got, found) = clipped(&gpu(), &grads, &groups);
    let (want, wanted) = clipped(&Cpu, &grads, &groups);
    assert!(got == want);
    assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
    Ok(())
}

/// Parameters after windows of each pattern of good and bad micro-batches, and what each said.
fn windows<D: Device>(device: &D) -> Result<(Vec<Vec<u8>>, Vec<String>)> {
    let mut scaler = Scaler::new(device.clone(), LossScale::dynamic())?;
    let params = [("a", noise(7, 3000)), ("b", noise(7, 5))];
    let mut optimizer =
        optimizer(device, &params, DType::F16, OptimizerConfig::new(UpdateRule::sgd(1.0))?);
    let groups = [group(&["b"], Norm::L2, 1e-3), group(&["a"], Norm::Infinity, 1e-2)];
    let mut said = Vec::new();
    for pattern in 0..4_u64 {
        let mut window = scaler.accumulate(BadMicroBatch::Drop);
        for number in 0..2 {
            let mut first = noise(10 * pattern + number, 3000);
            if pattern >> number & 1 == 1 {
                first[2999] = f32::INFINITY;
            }
            // Where the other micro-batch is bad, only the device knows that there is no sum of `b`.
            let second = (number == 0).then(|| noise(pattern, 5));
            let batch = set(device, &[("a", Some(first)), ("b", second)], DType::F16);
            window.add(scaler.check_unscaled(batch)?)?;
        }
        let sum = window.finish()?.ok_or("an empty window")?;
        let step = sum.clip_groups(&groups)?.step(&mut optimizer)?;
        said.push(format!("{:?}", scaler.update(step)?.resolve()?));
    }
    Ok((optimizer.params.iter().map(|param| device.bits(&param.value)).collect(), said))
}

fn a_windows_sum_is_clipped_by_groups_as_on_the_cpu() -> Result {
    let ((got, said), (want, wanted)) = (windows(&gpu())?, windows(&Cpu)?);
    for (got, want) in said.iter().zip(&wanted) {
        assert_eq!(got, want);
    }
    assert!(got == want);
    Ok(())
}
