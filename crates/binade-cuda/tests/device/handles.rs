//! Several handles, several threads, and memory that many values share.

use crate::support::{
    Device as _, Found, Grads, Result, cast_all, cuda, found, kind, l2_norm, noise, set, vector,
};
use binade_autocast::Autocast;
use binade_core::{DType, ErrorKind, Named};
use binade_cuda::{Cuda, ReferencePass};
use binade_grad_scaler::{
    ClipGroup, GradOps, GradScaler, Loss, LossScale, MergeRule, Norm, ScaleState, ScaleStore,
};
use binade_master_weights::{MasterWeights, OptimizerConfig, UpdateRule};

crate::tests![
    a_stream_that_each_thread_has_of_its_own_is_refused,
    another_handles_values_are_refused,
    slices_of_one_buffer_copy_no_more_than_themselves,
    a_thread_that_has_done_nothing_yet_can_poll_and_resolve,
    updates_of_many_findings_on_two_threads_do_not_mix,
];

fn one(exponent: i32) -> ScaleState {
    ScaleState::from_exponent(exponent)
}

fn a_stream_that_each_thread_has_of_its_own_is_refused() -> Result {
    let context = cuda().stream().context().clone();
    assert_eq!(kind(Cuda::on(context.per_thread_stream())), ErrorKind::InvalidArgument);
    let same = Cuda::on(context.default_stream())?;
    assert_eq!(same.bits(&vector(&same, &[1.0], DType::F32)), 1.0_f32.to_le_bytes());
    Ok(())
}

fn another_handles_values_are_refused() -> Result {
    let (here, there) = (cuda(), Cuda::open(0)?);
    let tensor = vector(&there, &[1.0], DType::F16);
    let grads = |device| set::<Cuda>(device, &[("w", Some(vec![1.0]))], DType::F16);
    let (near, mut far) = (found(&here, 1.0), found(&there, 1.0));
    let (mut scale, strange) = (here.upload_state(one(0))?, there.upload_state(one(0))?);
    let params = |device| vec![Named::new("w", vector::<Cuda>(device, &[1.0], DType::F32))];
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?;
    let mut masters = here.masters(&mut params(&here), &config)?;

    let pair = [vector(&here, &[1.0], DType::F16), tensor.clone()];
    let group = [ClipGroup::new(["w"], Norm::L2, 1.0)];
    let refused = [
        kind(cast_all(&here, &pair, DType::F32)),
        kind(l2_norm(&here, &pair)),
        kind(here.duplicate(&tensor)),
        kind(here.reference_pass(ReferencePass::Read(&tensor))),
        kind(here.reference_pass(ReferencePass::Rewrite(&mut vector(&there, &[1.0], DType::F16)))),
        kind(here.cast(&tensor, DType::F32)),
        kind(tensor.scaled(&here, &scale)),
        kind(vector(&here, &[1.0], DType::F16).scaled(&here, &strange)),
        kind(here.unscale(&mut grads(&there), &scale)),
        kind(here.unscale(&mut grads(&here), &strange)),
        kind(here.clip_norm(&mut grads(&there), Norm::L2, 1.0, &mut near.clone())),
        kind(here.clip_norm(&mut grads(&here), Norm::L2, 1.0, &mut far)),
        kind(here.clip_groups(&mut grads(&there), &group, &mut near.clone())),
        kind(here.clip_groups(&mut grads(&here), &group, &mut far)),
        kind(here.clip_value(&mut grads(&there), 1.0)),
        kind(here.accumulate(None, grads(&there), &near)),
        kind(here.accumulate(None, grads(&here), &far)),
        kind(here.merge(&mut near.clone(), &far, MergeRule::Any)),
        kind(here.update(&mut scale, &[], &[&far], &LossScale::none())),
        kind(here.read(&[&far], &scale)),
        kind(here.step(&mut params(&here), &mut masters, grads(&there), &near)),
        kind(here.step(&mut params(&there), &mut masters, grads(&here), &near)),
        kind(here.step(&mut params(&here), &mut masters, grads(&here), &far)),
        kind(there.step(&mut params(&there), &mut masters, grads(&there), &far)),
        kind(here.to_bits(&tensor)),
    ];
    assert_eq!(refused, [ErrorKind::Mismatch; 25]);
    Ok(())
}

/// Parameters lie in one large buffer, as they do if gradients are reduced in buckets.
fn slices_of_one_buffer_copy_no_more_than_themselves() -> Result {
    const SLICES: usize = 64;
    const LEN: usize = 4096;
    let cuda = cuda();
    let all = vector(&cuda, &noise(1, SLICES * LEN), DType::F32);
    let slice =
        |number: usize| Named::new(number.to_string(), all.slice(LEN * number, LEN).unwrap());
    let mut params: Vec<_> = (0..SLICES).map(slice).collect();
    let grads = |param: &Named<_>| Named {
        name: param.name.clone(),
        value: Some(all.slice(0, LEN).unwrap()),
    };
    let grads = Grads::<Cuda>::from(params.iter().map(grads).collect::<Vec<_>>());
    let fine = found(&cuda, 1.0);
    let before = cuda.bits(&all);
    let free = || -> Result<usize> {
        cuda.trim();
        cuda.synchronize()?;
        Ok(cuda.stream().context().mem_get_info()?.0)
    };
    let at_first = free()?;
    let mut masters = cuda.masters(&mut params, &OptimizerConfig::new(UpdateRule::sgd(1.0))?)?;
    cuda.step(&mut params, &mut masters, grads, &fine)?;
    let taken = at_first.saturating_sub(free()?);
    assert!(taken < 4 * SLICES * LEN * 4, "{taken} bytes for {SLICES} slices of {}", LEN * 4);
    assert_eq!(cuda.bits(&all), before, "what others hold keeps its bits");
    let first = cuda.bits(&params[1].value);
    assert_ne!(first, before[4 * LEN..8 * LEN]);
    Ok(())
}

fn a_thread_that_has_done_nothing_yet_can_poll_and_resolve() -> Result {
    let cuda = cuda();
    let mut scale = cuda.upload_state(one(16))?;
    let bad = found(&cuda, f32::NAN);
    cuda.update(&mut scale, &[], &[&bad], &LossScale::dynamic())?;
    let poll = || -> Result<i32, binade_cuda::Error> {
        while !cuda.is_ready(&[&bad], &scale)? {}
        Ok(cuda.read(&[&bad], &scale)?.1.exponent)
    };
    let exponent =
        std::thread::scope(|scope| scope.spawn(poll).join()).map_err(|_| "it panicked")?;
    assert_eq!(exponent?, 15);
    Ok(())
}

/// There are more findings than one launch takes: the state that one launch hands to the next is no other thread's.
fn updates_of_many_findings_on_two_threads_do_not_mix() -> Result {
    let cuda = cuda();
    let [good, bad] = [1.0, f32::NAN].map(|value| found(&cuda, value));
    let exponent = |first: &Found<Cuda>| -> Result<i32, binade_cuda::Error> {
        let mut all = vec![&good; 130];
        all[0] = first;
        let mut scale = cuda.upload_state(one(16))?;
        cuda.update(&mut scale, &all, &[], &LossScale::dynamic())?;
        Ok(cuda.read(&[], &scale)?.1.exponent)
    };
    let many = |first| (0..100).map(|_| exponent(first)).collect::<Result<Vec<_>, _>>();
    let both = std::thread::scope(|scope| {
        let other = scope.spawn(|| many(&bad));
        (many(&good), other.join())
    });
    assert_eq!(both.0?, [16; 100]);
    assert_eq!(both.1.map_err(|_| "it panicked")??, [15; 100]);
    Ok(())
}
