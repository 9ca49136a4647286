//! A parameter's way through several turns: unscaled, checked, stepped or left alone.

use super::norm::norm;
use super::unscale::{Grads, unscale};
use super::{adam, clip, sgd};
use crate::Clip;
use binade_master_weights::UpdateRule;

/// One element of a parameter with what its optimizer remembers of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Element {
    /// The `f32` value that is stepped.
    pub master: f32,
    /// Momentum, or the first moment.
    pub first: f32,
    /// The second moment.
    pub second: f32,
    /// The largest second moment so far, of `AMSGrad`.
    pub largest: f32,
    /// Steps applied so far.
    pub steps: i32,
}

/// One turn: the rule in force, each parameter's scaled gradient, and the scale they were made with.
#[derive(Clone, Debug)]
pub struct Turn<'a> {
    /// How parameters move.
    pub rule: UpdateRule,
    /// By parameter, in the parameters' order.
    pub grads: Grads<'a>,
    /// What the gradients have to be divided by.
    pub scale: f64,
    /// Whether the scale has diverged.
    pub halted: bool,
    /// How the unscaled gradients are clipped, if at all.
    pub clip: Option<Clip>,
    /// Scaled gradients that step together with these.
    pub beside: Option<Grads<'a>>,
}

/// The masters of `params` after `turns`.
pub fn train(params: &[Vec<f64>], turns: &[Turn<'_>]) -> Vec<Vec<f32>> {
    let fresh = |&p: &f64| Element { master: narrow(p), ..Element::default() };
    let mut state: Vec<Vec<Element>> =
        params.iter().map(|values| values.iter().map(fresh).collect()).collect();
    for turn in turns {
        let (grads, found) = unscale(&turn.grads, turn.scale);
        let beside = turn.beside.as_ref().map(|grads| unscale(grads, turn.scale).1);
        let beside = beside.is_some_and(|found| found.first.is_some());
        let (grads, unmeasured) = clipped(grads, turn.clip);
        if found.first.is_some() || turn.halted || beside || unmeasured {
            continue;
        }
        for (elements, grad) in state.iter_mut().zip(grads) {
            for (element, g) in elements.iter_mut().zip(grad.into_iter().flatten()) {
                step(&turn.rule, element, narrow(g));
            }
        }
    }
    state.iter().map(|elements| elements.iter().map(|element| element.master).collect()).collect()
}

/// Gradients after clipping, and whether their norm is beyond `f32`.
fn clipped(grads: Vec<Option<Vec<f64>>>, clip: Option<Clip>) -> (Vec<Option<Vec<f64>>>, bool) {
    let Some(clip) = clip else { return (grads, false) };
    let unmeasured = match clip {
        Clip::Norm(which, _) => !narrow(norm(which, &grads)).is_finite(),
        Clip::Value(_) => false,
    };
    (clip::clip(&grads, clip), unmeasured)
}

fn step(rule: &UpdateRule, element: &mut Element, g: f32) {
    match rule {
        UpdateRule::Sgd(rule) => sgd::step(rule, element, g),
        UpdateRule::Adam(rule) => adam::step(rule, element, g),
        other => panic!("{other:?} has no oracle yet: add one beside sgd and adam"),
    }
}

/// Rounds once to `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
pub(super) fn narrow(x: f64) -> f32 {
    x as f32
}
