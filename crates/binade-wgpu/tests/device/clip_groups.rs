//! Clipping by groups, against the CPU.

use crate::{
    stepping::Trains,
    support::{Device, Grads, Result, kind, narrow, noise, own, set, vector, wgpu},
};
use binade_core::{DType, ErrorKind, Finding, GradSet as _, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{
    BadMicroBatch, ClipGroup, GradOps, GradScaler, LossScale, Norm, ScaleState, ScaleStore, Scaler,
};
use binade_master_weights::{MasterOptimizer, Plan, Sgd, UpdateRule};

crate::tests![
    groups_give_the_cpus_bits,
    clips_of_all_before_and_after_give_the_cpus_bits,
    many_groups_of_odd_lengths_give_the_cpus_bits,
    a_group_without_gradients_and_one_without_elements_are_left_alone,
    a_norm_that_is_not_finite_raises_the_verdict_by_its_groups_name,
    what_does_not_fit_is_refused_and_nothing_has_changed,
    a_windows_sum_is_clipped_by_groups_as_on_the_cpu,
    a_group_in_many_parts_has_the_cpus_norm,
    steps_clipped_by_groups_read_nothing,
];

type Set<'a> = &'a [(&'a str, Option<Vec<f32>>)];

const FLOATS: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

fn group(names: &[&str], norm: Norm, max: f32) -> ClipGroup {
    ClipGroup::new(names.iter().copied(), norm, max)
}

/// Values and verdict after clipping a set that was made at 2^4: before and after, all of it by a norm of at most these.
fn clipped<D>(
    device: &D,
    grads: Set<'_>,
    dtype: DType,
    groups: &[ClipGroup],
    [before, after]: [Option<f32>; 2],
) -> (Vec<Option<Vec<u32>>>, Finding)
where
    D: Device,
{
    let scale = device.upload_state(ScaleState::from_exponent(4)).unwrap();
    let mut grads: Grads<D> = set(device, grads, dtype);
    let mut verdict = device.unscale(&mut grads, &scale).unwrap();
    if let Some(max) = before {
        device.clip_norm(&mut grads, Norm::L2, max, &mut verdict).unwrap();
    }
    device.clip_groups(&mut grads, groups, &mut verdict).unwrap();
    if let Some(max) = after {
        device.clip_norm(&mut grads, Norm::L2, max, &mut verdict).unwrap();
    }
    let bits = |entry: Named<Option<D::Tensor>>| entry.value.map(|tensor| words(device, &tensor));
    let values = device.materialise(grads).unwrap().into_iter().map(bits).collect();
    (values, device.read(&[&verdict], &scale).unwrap().0.remove(0))
}

/// The elements' bits, every NaN's being the same.
fn words<D: Device>(device: &D, tensor: &D::Tensor) -> Vec<u32> {
    let bytes = device.bits(tensor);
    let (elements, _) = bytes.as_chunks();
    let one = |bits: &[u8; 4]| f32::from_le_bytes(*bits);
    elements.iter().map(one).map(|x| if x.is_nan() { f32::NAN } else { x }.to_bits()).collect()
}

#[track_caller]
fn same(grads: Set<'_>, dtype: DType, groups: &[ClipGroup], all: [Option<f32>; 2]) {
    let (got, found) = clipped(&wgpu(), grads, dtype, groups, all);
    let (want, wanted) = clipped(&Cpu, grads, dtype, groups, all);
    assert!(got == want, "{dtype} {groups:?} {all:?}");
    assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "{dtype} {groups:?} {all:?}");
}

fn mixed() -> [(&'static str, Option<Vec<f32>>); 5] {
    [
        ("a", Some(noise(1, 5000))),
        ("b", None),
        ("c", Some(noise(2, 13))),
        ("d", Some(noise(3, 4097))),
        ("e", Some(noise(4, 300))),
    ]
}

fn groups_give_the_cpus_bits() -> Result {
    for (dtype, norm) in
        FLOATS.into_iter().flat_map(|dtype| [Norm::L2, Norm::Infinity].map(|norm| (dtype, norm)))
    {
        for max in [1e-3, 0.7, 1e3] {
            let groups = [group(&["d", "b", "a"], norm, max), group(&["c"], Norm::L2, 0.01)];
            same(&mixed(), dtype, &groups, [None, None]);
        }
    }
    Ok(())
}

fn clips_of_all_before_and_after_give_the_cpus_bits() -> Result {
    let groups = [group(&["a", "c"], Norm::L2, 0.1), group(&["e"], Norm::Infinity, 1e-3)];
    for all in [[Some(1.0), None], [None, Some(0.05)], [Some(1.0), Some(0.05)], [Some(1e9), None]] {
        same(&mixed(), DType::F16, &groups, all);
    }
    Ok(())
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
    same(&grads, DType::F32, &groups, [None, None]);
    Ok(())
}

fn a_group_without_gradients_and_one_without_elements_are_left_alone() -> Result {
    let grads = [("a", None), ("b", Some(Vec::new())), ("c", Some(vec![3.0, 4.0]))];
    for names in [&["a"][..], &["b"], &["a", "b"], &[]] {
        same(&grads, DType::F32, &[group(names, Norm::L2, 1e-3)], [None, None]);
    }
    same(&[("a", None)], DType::F32, &[group(&["a"], Norm::L2, 1.0)], [None, None]);
    same(&grads, DType::F32, &[], [None, None]);
    Ok(())
}

fn a_norm_that_is_not_finite_raises_the_verdict_by_its_groups_name() -> Result {
    // Each element is finite; the norm, 3e38 · sqrt(4000) / 16, is not as f32.
    let grads =
        [("a", Some(vec![1.0])), ("b", Some(vec![3e38; 4000])), ("c", Some(vec![3e38; 4000]))];
    let groups =
        [group(&["a"], Norm::L2, 1.0), group(&["c"], Norm::L2, 1.0), group(&["b"], Norm::L2, 1.0)];
    same(&grads, DType::F32, &groups, [None, None]);
    let (_, found) = clipped(&wgpu(), &grads, DType::F32, &groups, [None, None]);
    let overflow = found.overflow.ok_or("not raised")?;
    assert_eq!(&*overflow.parameter, "norm of the group of `c`");
    assert_eq!((found.infinities, found.norm), (0, None));
    for bad in [f32::NAN, f32::INFINITY] {
        let grads = [("a", Some(vec![1.0, 2.0])), ("b", Some(vec![1.0, bad]))];
        for (name, norm) in [("a", Norm::L2), ("b", Norm::L2), ("b", Norm::Infinity)] {
            same(&grads, DType::F16, &[group(&[name], norm, 0.5)], [None, None]);
        }
    }
    Ok(())
}

fn what_does_not_fit_is_refused_and_nothing_has_changed() -> Result {
    let wgpu = wgpu();
    let one = wgpu.upload_state(ScaleState::from_exponent(0))?;
    let mut grads = set(&wgpu, &[("a", Some(vec![3.0, 4.0])), ("b", None)], DType::F32);
    let mut found = wgpu.unscale(&mut grads, &one)?;
    let fits = || group(&["a"], Norm::L2, 1.0);
    for (second, wanted) in [
        (group(&["b"], Norm::L2, 0.0), ErrorKind::InvalidArgument),
        (group(&["b"], Norm::L2, f32::NAN), ErrorKind::InvalidArgument),
        (group(&["b", "a"], Norm::L2, 1.0), ErrorKind::Mismatch),
        (group(&["x"], Norm::L2, 1.0), ErrorKind::Mismatch),
    ] {
        let refused = wgpu.clip_groups(&mut grads, &[fits(), second], &mut found);
        assert_eq!(kind(refused), wanted);
    }
    let tensor = wgpu.materialise(grads)?.remove(0).value.ok_or("missing")?;
    assert_eq!(words(&wgpu, &tensor), [3.0_f32, 4.0].map(f32::to_bits));
    Ok(())
}

/// Steps that are rounded once: `param - grad`.
fn descent() -> UpdateRule {
    let rule = Sgd { lr: 1.0, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false };
    UpdateRule::Sgd(rule)
}

/// Parameters after windows of each pattern of good and bad micro-batches, and what each said.
fn windows<D: Trains>(device: &D) -> Result<(Vec<Vec<u8>>, Vec<String>)> {
    let mut scaler = Scaler::new(device.clone(), LossScale::dynamic())?;
    let param = |(name, len)| Named::new(name, vector(device, &noise(7, len), DType::F16));
    let params = [("a", 3000), ("b", 5)].map(param);
    let plan = Plan::new(descent())?;
    let mut optimizer = MasterOptimizer::new(device.clone(), params.into(), plan)?;
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
            window.add(scaler.never_scaled(batch)?)?;
        }
        let sum = window.finish()?.ok_or("an empty window")?;
        let step = sum.clip_groups(&groups)?.step(&mut optimizer)?;
        said.push(format!("{:?}", scaler.update(step)?.resolve()?));
    }
    Ok((optimizer.params.iter().map(|param| device.bits(&param.value)).collect(), said))
}

fn a_windows_sum_is_clipped_by_groups_as_on_the_cpu() -> Result {
    let ((got, said), (want, wanted)) = (windows(&wgpu())?, windows(&Cpu)?);
    for (got, want) in said.iter().zip(&wanted) {
        assert_eq!(got, want);
    }
    assert!(got == want);
    Ok(())
}

fn a_group_in_many_parts_has_the_cpus_norm() -> Result {
    let grads = [("a", Some(noise(1, 5000))), ("b", Some(noise(2, 1500)))];
    let groups = [group(&["b", "a"], Norm::L2, 0.5)];
    let (got, _) = clipped(&narrow(), &grads, DType::F32, &groups, [None, None]);
    let (want, _) = clipped(&Cpu, &grads, DType::F32, &groups, [None, None]);
    assert!(got == want);
    Ok(())
}

fn steps_clipped_by_groups_read_nothing() -> Result {
    let wgpu = own();
    let mut scaler = Scaler::new(wgpu.clone(), LossScale::dynamic())?;
    let params = vec![Named::new("a", vector(&wgpu, &noise(1, 500), DType::BF16))];
    let plan = Plan::new(UpdateRule::adamw(1e-2))?;
    let mut optimizer = MasterOptimizer::new(wgpu.clone(), params, plan)?;
    let groups = [group(&["a"], Norm::L2, 1e-3)];
    let loss = vector(&wgpu, &[1.0], DType::F32);
    let syncs = wgpu.ledger().syncs;
    for number in 0..20 {
        let grads = [("a", Some(noise(number, 500)))];
        let grads = scaler.scale(&loss)?.backward(|_| Ok(set(&wgpu, &grads, DType::BF16)))?;
        let grads = grads.unscale()?;
        let grads = grads.clip_groups(&groups)?;
        scaler.update(grads.step(&mut optimizer)?)?.leave_unread();
        assert_eq!(wgpu.ledger().syncs, syncs);
    }
    Ok(())
}
