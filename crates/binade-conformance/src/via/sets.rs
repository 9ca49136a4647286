//! Clipping and adding whole sets, by [`GradOps`].

use super::{missing, read};
use crate::{Clip, MicroBatch, Refusal, Unscaled};
use binade_core::{Finding, NamedGrads};
use binade_grad_scaler::{ClipGroup, GradOps, Norm, ScaleState};

/// [`Subject::norm`](crate::Subject::norm) by [`GradOps::clip_norm`], with a limit that only infinity exceeds.
///
/// # Errors
///
/// The device's.
pub fn norm<D>(
    device: &D,
    grads: NamedGrads<D::Tensor>,
    scale: ScaleState,
    norm: Norm,
) -> Result<Finding, Refusal>
where
    D: GradOps<Grads: From<NamedGrads<D::Tensor>>>,
{
    Ok(clipped(device, grads, scale, Clip::Norm(norm, f32::MAX))?.1)
}

/// [`Subject::clip`](crate::Subject::clip) by [`GradOps::clip_norm`] or [`GradOps::clip_value`].
///
/// # Errors
///
/// The device's.
pub fn clip<D>(
    device: &D,
    grads: NamedGrads<D::Tensor>,
    scale: ScaleState,
    clip: Clip,
) -> Result<Unscaled<D::Tensor>, Refusal>
where
    D: GradOps<Grads: From<NamedGrads<D::Tensor>>>,
{
    let (grads, found) = clipped(device, grads, scale, clip)?;
    Ok(Unscaled { grads: device.materialise(grads)?, found })
}

/// [`Subject::clip_groups`](crate::Subject::clip_groups) by [`GradOps::clip_groups`], after [`GradOps::clip_norm`] or
/// [`GradOps::clip_value`].
///
/// # Errors
///
/// The device's.
pub fn clip_groups<D>(
    device: &D,
    grads: NamedGrads<D::Tensor>,
    scale: ScaleState,
    first: Option<Clip>,
    groups: &[ClipGroup],
) -> Result<Unscaled<D::Tensor>, Refusal>
where
    D: GradOps<Grads: From<NamedGrads<D::Tensor>>>,
{
    let mut grads = D::Grads::from(grads);
    let scale = device.upload_state(scale)?;
    let mut verdict = device.unscale(&mut grads, &scale)?;
    if let Some(clip) = first {
        limit(device, &mut grads, clip, &mut verdict)?;
    }
    device.clip_groups(&mut grads, groups, &mut verdict)?;
    let found = read(device, &verdict, &scale)?;
    Ok(Unscaled { grads: device.materialise(grads)?, found })
}

/// [`Subject::accumulate`](crate::Subject::accumulate) by [`GradScaler::unscale`](binade_grad_scaler::GradScaler::unscale) and [`GradOps::accumulate`].
///
/// # Errors
///
/// The device's.
pub fn accumulate<D>(
    device: &D,
    window: Vec<MicroBatch<D::Tensor>>,
) -> Result<NamedGrads<D::Tensor>, Refusal>
where
    D: GradOps<Grads: From<NamedGrads<D::Tensor>>>,
{
    let (mut sum, mut last) = (None, None);
    for MicroBatch { grads, scale } in window {
        let mut grads = D::Grads::from(grads);
        let scale = device.upload_state(scale)?;
        let found = device.unscale(&mut grads, &scale)?;
        sum = Some(device.accumulate(sum, grads, &found)?);
        last = Some((found, scale));
    }
    let none = || missing("a window takes at least one micro-batch");
    let (sum, (found, scale)) = sum.zip(last).ok_or_else(none)?;
    // Which gradients there are hangs on what was found: a device that runs late knows once that has been read.
    read(device, &found, &scale)?;
    Ok(device.materialise(sum)?)
}

/// A set after unscaling and clipping, and the verdict on it.
fn clipped<D>(
    device: &D,
    grads: NamedGrads<D::Tensor>,
    scale: ScaleState,
    clip: Clip,
) -> Result<(D::Grads, Finding), Refusal>
where
    D: GradOps<Grads: From<NamedGrads<D::Tensor>>>,
{
    let mut grads = D::Grads::from(grads);
    let scale = device.upload_state(scale)?;
    let mut verdict = device.unscale(&mut grads, &scale)?;
    limit(device, &mut grads, clip, &mut verdict)?;
    let found = read(device, &verdict, &scale)?;
    Ok((grads, found))
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
