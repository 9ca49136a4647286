//! State that stays on the device between calls: joined found-inf results, and the scale.

use super::read;
use crate::{
    Backend, Iteration, IterationFindings, IterationResult, MergeResult, MicroBatch, PassFinding,
    Result, ScaleTrace, TrainingDevice,
};
use binade_core::{DType, Named, NamedGrads};
use binade_grad_scaler::{LossScale, MergeRule, ScaleState, ScaleStore as _};

/// Updates the scale by found-inf results of gradients of the given magnitude, raised by an added infinity. Equal results come from one pass, since a
/// pass takes a device longer than the update.
pub(crate) fn update_scale<S: Backend + ?Sized>(
    subject: &S,
    device: &S::Handle,
    rule: &LossScale,
    scale: ScaleState,
    round: &IterationFindings,
) -> Result<ScaleState> {
    let mut passes = Vec::new();
    for &pass in round.parts.iter().chain(&round.verdicts) {
        if !passes.iter().any(|(known, _)| *known == pass) {
            passes.push((pass, flag(subject, device, pass)?));
        }
    }
    let found = |pass: &PassFinding| passes.iter().find(|(known, _)| known == pass);
    let of = |asked: &[PassFinding]| -> Vec<_> {
        asked.iter().filter_map(found).map(|(_, found)| found).collect()
    };
    let (parts, verdicts) = (of(&round.parts), of(&round.verdicts));
    let mut scale = device.upload_state(scale)?;
    device.update(&mut scale, &parts, &verdicts, rule)?;
    Ok(device.read(&[], &scale)?.1)
}

/// Returns the found-inf result, raised or not, of a gradient of the given magnitude.
fn flag<S: Backend + ?Sized>(
    subject: &S,
    device: &S::Handle,
    pass: PassFinding,
) -> Result<FoundOf<S::Handle>> {
    let elements = [pass.magnitude, if pass.raised { f32::INFINITY } else { -pass.magnitude }];
    let bits: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
    let tensor = subject.from_bits(&bits, DType::F32, &[elements.len()])?;
    let one = device.upload_state(ScaleState::from_exponent(0))?;
    found(device, vec![Named::new("flag", Some(tensor))], &one)
}

/// Joins the found-inf results of two passes.
pub(crate) fn merge<D: TrainingDevice>(
    device: &D,
    into: MicroBatch<D::Tensor>,
    from: MicroBatch<D::Tensor>,
    join: MergeRule,
) -> Result<MergeResult> {
    let scale = device.upload_state(from.scale)?;
    let from = found(device, from.grads, &scale)?;
    let into = found(device, into.grads, &device.upload_state(into.scale)?)?;
    let mut joined = into.clone();
    device.merge(&mut joined, &from, join)?;
    Ok(MergeResult {
        joined: read(device, &joined, &scale)?,
        into: read(device, &into, &scale)?,
        from: read(device, &from, &scale)?,
    })
}

/// Runs iterations, and reads nothing before the last.
pub(crate) fn iterate<D: TrainingDevice>(
    device: &D,
    rule: &LossScale,
    start: ScaleState,
    iterations: Vec<Iteration<D::Tensor>>,
) -> Result<ScaleTrace> {
    let mut scale = device.upload_state(start)?;
    let mut held = Vec::new();
    for iteration in iterations {
        held.push(Unread::pass(device, rule, &mut scale, iteration)?);
    }
    let stages = held.into_iter().map(|held| held.read(device, &scale));
    let stages = stages.collect::<Result<_>>()?;
    Ok(ScaleTrace { stages, scale: device.read(&[], &scale)?.1 })
}

/// Results of an iteration that the device still holds.
struct Unread<D: TrainingDevice> {
    before: Option<D::Scale>,
    parts: Vec<D::Found>,
    verdict: Option<D::Found>,
}

impl<D: TrainingDevice> Unread<D> {
    /// Unscales, joins and updates, and reads nothing.
    fn pass(
        device: &D,
        rule: &LossScale,
        scale: &mut D::Scale,
        iteration: Iteration<D::Tensor>,
    ) -> Result<Self> {
        let before = iteration.keep.then(|| scale.clone());
        let parts = iteration.parts.into_iter().map(|grads| found(device, grads, scale));
        let parts = parts.collect::<Result<Vec<_>>>()?;
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

    /// Reads everything at once, with the scale of `now` if no clone was kept.
    fn read(self, device: &D, now: &D::Scale) -> Result<IterationResult> {
        let all: Vec<_> = self.parts.iter().chain(&self.verdict).collect();
        let scale = self.before.as_ref().unwrap_or(now);
        let (mut parts, state) = device.read(&all, scale)?;
        let ready = device.is_ready(&all, scale)?;
        let verdict = parts.split_off(self.parts.len()).pop();
        Ok(IterationResult {
            before: self.before.is_some().then_some(state),
            parts,
            verdict,
            ready,
        })
    }
}

type FoundOf<D> = <D as binade_core::GradSet>::Found;

/// Returns the found-inf result, on the device, of a pass over gradients of this scale.
fn found<D: TrainingDevice>(
    device: &D,
    grads: NamedGrads<D::Tensor>,
    scale: &D::Scale,
) -> Result<D::Found> {
    Ok(device.unscale(&mut D::Grads::from(grads), scale)?)
}
