//! The toy's findings joined, and its scale moved from one iteration to the next.

use crate::toy::{Plain, Toy};
use binade_conformance::{Course, Iteration, Joined, MicroBatch, Refusal, Stage, Subject};
use binade_core::Finding;
use binade_grad_scaler::{Join, LossScale, ScaleState, join_findings, seen};

pub(crate) fn merge(
    into: MicroBatch<Plain>,
    from: MicroBatch<Plain>,
    join: Join,
) -> Result<Joined, Refusal> {
    let into = Toy.unscale(into.grads, into.scale)?.found;
    let from = Toy.unscale(from.grads, from.scale)?.found;
    let mut joined = into.clone();
    join_findings(&mut joined, &from, join);
    Ok(Joined { joined, into, from })
}

/// What one iteration finds under a scale.
pub(crate) fn stage(iteration: &Iteration<Plain>, scale: ScaleState) -> Result<Stage, Refusal> {
    let find = |grads: &_| Ok(Toy.unscale(Clone::clone(grads), scale)?.found);
    let parts = iteration.parts.iter().map(find).collect::<Result<Vec<Finding>, Refusal>>()?;
    let verdict = parts.iter().cloned().reduce(|mut all, part| {
        join_findings(&mut all, &part, iteration.join);
        all
    });
    Ok(Stage { before: iteration.keep.then_some(scale), parts, verdict, ready: true })
}

/// The scale after a stage.
pub(crate) fn moved(rule: &LossScale, scale: ScaleState, stage: &Stage) -> ScaleState {
    let (parts, verdicts): (Vec<_>, Vec<_>) =
        (stage.parts.iter().collect(), stage.verdict.iter().collect());
    rule.next(scale, seen(&parts, &verdicts))
}

pub(crate) fn iterate(
    rule: &LossScale,
    mut scale: ScaleState,
    iterations: &[Iteration<Plain>],
) -> Result<Course, Refusal> {
    let mut stages = Vec::new();
    for iteration in iterations {
        let stage = stage(iteration, scale)?;
        scale = moved(rule, scale, &stage);
        stages.push(stage);
    }
    Ok(Course { stages, scale })
}

/// `tensor` in f32, times `factor`.
pub(crate) fn times(tensor: &Plain, factor: f32) -> Plain {
    let values: Vec<f32> = tensor.read().into_iter().map(|x| x * factor).collect();
    Plain::write(&values, binade_core::DType::F32, &tensor.shape)
}
