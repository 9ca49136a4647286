//! What stays on the device from one call to the next: findings that are joined, and a scale that moves.

use super::read;
use crate::{Course, Iteration, Joined, MicroBatch, Refusal, Stage};
use binade_core::NamedGrads;
use binade_grad_scaler::{GradScaler, Join, LossScale, ScaleState, ScaleStore};

/// [`Subject::merge`](crate::Subject::merge) by [`GradScaler::unscale`] and [`ScaleStore::merge`].
///
/// # Errors
///
/// The device's.
pub fn merge<D>(
    device: &D,
    into: MicroBatch<D::Tensor>,
    from: MicroBatch<D::Tensor>,
    join: Join,
) -> Result<Joined, Refusal>
where
    D: GradScaler<Grads: From<NamedGrads<D::Tensor>>>,
{
    let scale = device.upload_state(from.scale)?;
    let from = found(device, from.grads, &scale)?;
    let into = found(device, into.grads, &device.upload_state(into.scale)?)?;
    let mut joined = into.clone();
    device.merge(&mut joined, &from, join)?;
    Ok(Joined {
        joined: read(device, &joined, &scale)?,
        into: read(device, &into, &scale)?,
        from: read(device, &from, &scale)?,
    })
}

/// [`Subject::iterate`](crate::Subject::iterate) by [`GradScaler::unscale`], [`ScaleStore::merge`] and
/// [`ScaleStore::update`], with nothing read before the last iteration.
///
/// # Errors
///
/// The device's.
pub fn iterate<D>(
    device: &D,
    rule: &LossScale,
    start: ScaleState,
    iterations: Vec<Iteration<D::Tensor>>,
) -> Result<Course, Refusal>
where
    D: GradScaler<Grads: From<NamedGrads<D::Tensor>>>,
{
    let mut scale = device.upload_state(start)?;
    let mut held = Vec::new();
    for iteration in iterations {
        held.push(Held::pass(device, rule, &mut scale, iteration)?);
    }
    let stages = held.into_iter().map(|held| held.read(device, &scale));
    let stages = stages.collect::<Result<_, Refusal>>()?;
    Ok(Course { stages, scale: device.read(&[], &scale)?.1 })
}

/// What the device still holds of an iteration.
struct Held<D: ScaleStore> {
    before: Option<D::Scale>,
    parts: Vec<D::Found>,
    verdict: Option<D::Found>,
}

impl<D> Held<D>
where
    D: GradScaler<Grads: From<NamedGrads<D::Tensor>>>,
{
    /// Unscales, joins and updates, and reads nothing.
    fn pass(
        device: &D,
        rule: &LossScale,
        scale: &mut D::Scale,
        iteration: Iteration<D::Tensor>,
    ) -> Result<Self, Refusal> {
        let before = iteration.keep.then(|| scale.clone());
        let parts = iteration.parts.into_iter().map(|grads| found(device, grads, scale));
        let parts = parts.collect::<Result<Vec<_>, Refusal>>()?;
        let mut verdict = parts.first().cloned();
        if let Some(verdict) = &mut verdict {
            for part in &parts[1..] {
                device.merge(verdict, part, iteration.join)?;
            }
        }
        let (seen, verdicts): (Vec<_>, Vec<_>) = (parts.iter().collect(), verdict.iter().collect());
        device.update(scale, &seen, &verdicts, rule)?;
        Ok(Self { before, parts, verdict })
    }

    /// Reads everything in one go; the scale of `now` where none was kept.
    fn read(self, device: &D, now: &D::Scale) -> Result<Stage, Refusal> {
        let all: Vec<_> = self.parts.iter().chain(&self.verdict).collect();
        let scale = self.before.as_ref().unwrap_or(now);
        let (mut parts, state) = device.read(&all, scale)?;
        let ready = device.is_ready(&all, scale)?;
        let verdict = parts.split_off(self.parts.len()).pop();
        Ok(Stage { before: self.before.is_some().then_some(state), parts, verdict, ready })
    }
}

/// What a pass over gradients of this scale finds, on the device.
fn found<D>(device: &D, grads: NamedGrads<D::Tensor>, scale: &D::Scale) -> Result<D::Found, Refusal>
where
    D: GradScaler<Grads: From<NamedGrads<D::Tensor>>>,
{
    Ok(device.unscale(&mut D::Grads::from(grads), scale)?)
}
