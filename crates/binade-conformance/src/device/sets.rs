//! Clips, sums and steps of whole sets, by [`GradOps`] and [`MasterWeights`](binade_master_weights::MasterWeights).

use super::read;
use crate::{Clip, MicroBatch, Result, SubjectError, TrainStep, TrainingDevice, UnscaleResult};
use binade_core::{FoundInf, Named, NamedGrads};
use binade_grad_scaler::{ClipGroup, GradOps, MergeRule, Norm, ScaleState};
use binade_master_weights::{MasterStore, OptimizerConfig};

type Grads<D> = NamedGrads<<D as binade_core::Handle>::Tensor>;
type Params<D> = Vec<Named<<D as binade_core::Handle>::Tensor>>;

/// Returns the found-inf result of a clip by norm to `f32::MAX`, which only infinity exceeds.
pub(crate) fn norm<D: TrainingDevice>(
    device: &D,
    grads: Grads<D>,
    scale: ScaleState,
    norm: Norm,
) -> Result<FoundInf> {
    Ok(clipped(device, grads, scale, Some(Clip::Norm(norm, f32::MAX)), None)?.1)
}

/// Unscales, clips as `first` says, then by groups, and materialises.
pub(crate) fn clip<D: TrainingDevice>(
    device: &D,
    grads: Grads<D>,
    scale: ScaleState,
    first: Option<Clip>,
    groups: Option<&[ClipGroup]>,
) -> Result<UnscaleResult<D::Tensor>> {
    let (grads, found) = clipped(device, grads, scale, first, groups)?;
    Ok(UnscaleResult { grads: device.materialise(grads)?, found })
}

fn clipped<D: TrainingDevice>(
    device: &D,
    grads: Grads<D>,
    scale: ScaleState,
    first: Option<Clip>,
    groups: Option<&[ClipGroup]>,
) -> Result<(D::Grads, FoundInf)> {
    let mut grads = D::Grads::from(grads);
    let scale = device.upload_state(scale)?;
    let mut verdict = device.unscale(&mut grads, &scale)?;
    if let Some(clip) = first {
        limit(device, &mut grads, clip, &mut verdict)?;
    }
    if let Some(groups) = groups {
        device.clip_groups(&mut grads, groups, &mut verdict)?;
    }
    let found = read(device, &verdict, &scale)?;
    Ok((grads, found))
}

/// Sums micro-batches, each unscaled by its own scale.
pub(crate) fn accumulate<D: TrainingDevice>(
    device: &D,
    window: Vec<MicroBatch<D::Tensor>>,
) -> Result<Grads<D>> {
    let (mut sum, mut last) = (None, None);
    for MicroBatch { grads, scale } in window {
        let mut grads = D::Grads::from(grads);
        let scale = device.upload_state(scale)?;
        let found = device.unscale(&mut grads, &scale)?;
        sum = Some(device.accumulate(sum, grads, &found)?);
        last = Some((found, scale));
    }
    let none = || SubjectError::failed("a window takes at least one micro-batch");
    let (sum, (found, scale)) = sum.zip(last).ok_or_else(none)?;
    // Only good micro-batches give gradients: an asynchronous device knows them once the found-inf result is read.
    read(device, &found, &scale)?;
    Ok(device.materialise(sum)?)
}

/// Clips a set in place, by [`GradOps::clip_norm`] or [`GradOps::clip_value`].
pub(super) fn limit<D: GradOps>(
    device: &D,
    grads: &mut D::Grads,
    clip: Clip,
    verdict: &mut D::Found,
) -> Result<(), D::Error> {
    match clip {
        Clip::Norm(norm, max) => device.clip_norm(grads, norm, max, verdict),
        Clip::Value(max) => device.clip_value(grads, max),
    }
}

/// Unscales, clips, joins and steps, with a configuration of that store.
pub(crate) fn train<D: TrainingDevice>(
    device: &D,
    store: MasterStore,
    mut params: Params<D>,
    steps: Vec<TrainStep<D::Tensor>>,
) -> Result<Params<D>> {
    let none = || SubjectError::failed("training takes at least one step");
    let config = |rule| Ok::<_, SubjectError>(OptimizerConfig::new(rule)?.with_store(store));
    let mut masters =
        device.masters(&mut params, &config(steps.first().ok_or_else(none)?.rule)?)?;
    for step in steps {
        device.set_config(&mut masters, &config(step.rule)?)?;
        let mut grads = D::Grads::from(step.grads);
        let scale = device.upload_state(step.scale)?;
        let mut found = device.unscale(&mut grads, &scale)?;
        if let Some(clip) = step.clip {
            limit(device, &mut grads, clip, &mut found)?;
        }
        if let Some(beside) = step.beside {
            let other = device.unscale(&mut D::Grads::from(beside), &scale)?;
            device.merge(&mut found, &other, MergeRule::Any)?;
        }
        device.step(&mut params, &mut masters, grads, &found)?;
    }
    Ok(params)
}
