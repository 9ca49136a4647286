//! A run of iterations: each pass unscaled by the scale in force, joined to one verdict, and the scale moved.

use super::merge::merge;
use super::scale_update::update;
use super::unscale::{Found, Grads, unscale};
use binade_grad_scaler::{Join, LossScale, ScaleState, Seen};

/// One iteration: each pass's scaled gradients by parameter, and how their findings are joined.
#[derive(Clone, Debug)]
pub struct Iteration<'a> {
    /// By pass.
    pub parts: Vec<Grads<'a>>,
    /// How findings become the verdict.
    pub join: Join,
}

/// What becomes of one iteration.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The scale before the update.
    pub before: ScaleState,
    /// What each pass finds.
    pub parts: Vec<Found>,
    /// All of them joined; nothing without a pass.
    pub verdict: Option<Found>,
}

/// By iteration what becomes of it, and the scale after the last.
pub fn iterate(
    rule: &LossScale,
    start: ScaleState,
    run: &[Iteration<'_>],
) -> (Vec<Stage>, ScaleState) {
    let mut now = start;
    let mut stages = vec![];
    for iteration in run {
        let scale = f64::from(now.significand) * 2.0_f64.powi(now.exponent);
        let parts: Vec<Found> = iteration.parts.iter().map(|part| unscale(part, scale).1).collect();
        let verdict = parts.iter().cloned().reduce(|all, part| merge(&all, &part, iteration.join));
        let raised = |found: &Found| found.first.is_some() || now.diverged;
        let skipped = verdict.as_ref().is_some_and(raised);
        let overflow = skipped || parts.iter().any(raised);
        let magnitude = parts.iter().map(|part| part.magnitude).fold(0.0, f64::max);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the magnitude of a gradient, which f32 holds"
        )]
        let magnitude = magnitude as f32;
        stages.push(Stage { before: now, parts, verdict });
        now = update(rule, &now, Seen { overflow, skipped, magnitude });
    }
    (stages, now)
}
