//! Runs of a few turns, for every optimizer: what they consist of, and how they are compared.
//!
//! The oracle takes a parameter through several turns, in each of which it is unscaled, checked, and stepped or left alone.

use super::cast::rounded;
use super::clip;
use super::norm::norm;
use super::prelude::*;
use super::unscale::{Grads, Set, factor, unscale, upload, values};
use crate::{Clip, TrainStep};
use binade_grad_scaler::ScaleState;
use binade_master_weights::UpdateRule;

/// One turn on the kit's side.
#[derive(Clone)]
pub(super) struct Move {
    pub(super) rule: UpdateRule,
    pub(super) grads: Set,
    pub(super) scale: ScaleState,
    pub(super) clip: Option<Clip>,
    /// Gradients that step together with these.
    pub(super) beside: Option<Set>,
}

impl Move {
    pub(super) fn new(rule: UpdateRule, grads: Set, exponent: i32) -> Self {
        Self { rule, grads, scale: ScaleState::from_exponent(exponent), clip: None, beside: None }
    }

    pub(super) fn clipped(self, clip: Clip) -> Self {
        Self { clip: Some(clip), ..self }
    }

    pub(super) fn beside(self, grads: Set) -> Self {
        Self { beside: Some(grads), ..self }
    }
}

/// Parameters and what is done to them, from fresh masters.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) params: Vec<(&'static str, Stored)>,
    pub(super) moves: Vec<Move>,
}

impl Run {
    pub(super) fn new(params: Vec<(&'static str, Stored)>, moves: Vec<Move>) -> Self {
        Self { params, moves }
    }

    /// One parameter, `w`, and gradients of its own, scaled by 2^10.
    pub(super) fn single(param: Stored, moves: Vec<(UpdateRule, Stored)>) -> Self {
        let one = |(rule, grad)| Move::new(rule, vec![("w", Some(grad))], 10);
        Self::new(vec![("w", param)], moves.into_iter().map(one).collect())
    }

    /// Trains, and compares every parameter by the operation's agreement.
    pub(super) fn near<S: Backend>(&self, s: &S, check: &mut Check) -> Verdict {
        self.each(s, |inputs, got, wanted| check.values(inputs, got, wanted, None))
    }

    /// Trains, and compares every parameter bit by bit: for skips, and for values that no arithmetic rounds otherwise.
    pub(super) fn exact<S: Backend>(&self, s: &S, check: &mut Check) -> Verdict {
        self.each(s, |inputs, got, wanted| check.exact(inputs, got, wanted))
    }

    fn each<S: Backend>(
        &self,
        s: &S,
        mut compare: impl FnMut(&[&Stored], &Stored, &[f64]) -> Verdict,
    ) -> Verdict {
        let trained = self.train(s)?;
        for (index, (name, param)) in self.params.iter().enumerate() {
            let Some(after) = trained.iter().find(|after| &*after.name == *name) else {
                let why = format!("parameter `{name}` is gone after training");
                return Err(CaseError::Subject(crate::SubjectError::Failed(why)));
            };
            let got = get(s, &after.value, param.dtype, &param.shape)?;
            let grads = self.moves.iter().flat_map(|turn| &turn.grads);
            let grads = grads.filter(|grad| grad.0 == *name).filter_map(|grad| grad.1.as_ref());
            let inputs: Vec<&Stored> = std::iter::once(param).chain(grads).collect();
            compare(&inputs, &got, &self.wanted(index))?;
        }
        Ok(())
    }

    /// Trains on what cannot be trained on, and wants to be told so, at the latest where a parameter is looked at.
    pub(super) fn refused<S: Backend>(&self, s: &S, check: &mut Check, kind: ErrorKind) -> Verdict {
        let looked = self.train(s).and_then(|after| {
            let look = |param: &Named<Tensor<S>>| s.to_bits(&param.value);
            Ok(after.iter().map(look).collect::<Result<Vec<_>, _>>()?)
        });
        let inputs: Vec<&Set> = self.moves.iter().map(|turn| &turn.grads).collect();
        check.rejected((&self.params, inputs), looked, kind)
    }

    fn train<S: Backend>(&self, s: &S) -> Result<Vec<Named<Tensor<S>>>, CaseError> {
        let mut params = Vec::new();
        for (name, param) in &self.params {
            params.push(Named::new(*name, put(s, param)?));
        }
        let mut turns = Vec::new();
        for Move { rule, grads, scale, clip, beside } in &self.moves {
            let beside = beside.as_ref().map(|set| upload(s, set)).transpose()?;
            let grads = upload(s, grads)?;
            turns.push(TrainStep { rule: *rule, grads, scale: *scale, clip: *clip, beside });
        }
        Ok(s.train(params, turns)?)
    }

    fn turn<'a>(&'a self, turn: &'a Move) -> TurnValues<'a> {
        TurnValues {
            rule: turn.rule,
            grads: self.in_order(&turn.grads),
            scale: factor(&turn.scale),
            halted: turn.scale.diverged,
            clip: turn.clip,
            beside: turn.beside.as_ref().map(values),
        }
    }

    /// Gradients in the parameters' order, in which the oracle takes them.
    fn in_order<'a>(&'a self, grads: &'a Set) -> Vec<(&'a str, Option<Vec<f64>>)> {
        let of = |name: &str| grads.iter().find(|grad| grad.0 == name)?.1.as_ref();
        let one = |name: &'a str| (name, of(name).map(|grad| grad.values().collect()));
        self.params.iter().map(|(name, _)| one(name)).collect()
    }

    /// The masters that the oracle wants of one parameter.
    fn wanted(&self, index: usize) -> Vec<f64> {
        let params: Vec<Vec<f64>> = self.params.iter().map(|(_, p)| p.values().collect()).collect();
        let turns: Vec<TurnValues<'_>> = self.moves.iter().map(|turn| self.turn(turn)).collect();
        train(&params, &turns).swap_remove(index).into_iter().map(f64::from).collect()
    }
}

/// `rule` with nothing that moves a parameter: its first step from fresh state fills the moments, exactly or with one
/// rounding that every arithmetic shares, so that a second step starts from one identical state on every device.
pub(super) fn at_rest(rule: UpdateRule) -> UpdateRule {
    let mut rule = rule.with_lr(0.0);
    *weight_decay(&mut rule) = 0.0;
    rule
}

/// Values of which no two cancel in a step, so that units in the last place mean something: parameters in ±[1/2, 2),
/// scaled gradients of the same signs whose unscaled values are in ±[1/4, 1).
pub(super) fn calm(dtypes: [DType; 2], count: usize, seed: usize) -> [Stored; 3] {
    let mut draw = Draw::new(seed);
    let signs: Vec<f64> = (0..count).map(|_| draw.spread(0.0, 0.0)).collect();
    let mut vector = |dtype, low: f64, high: f64| {
        Stored::vector(dtype, signs.iter().map(|sign| sign * draw.within(low, high)))
    };
    let scale = 1024.0;
    [
        vector(dtypes[0], 0.5, 2.0),
        vector(dtypes[1], 0.25 * scale, scale),
        vector(dtypes[1], 0.25 * scale, scale),
    ]
}

/// Values of any sign and many binades: for arithmetic whose every rounding is the oracle's.
pub(super) fn wild(dtypes: [DType; 2], count: usize, seed: usize) -> [Stored; 3] {
    let mut draw = Draw::new(seed);
    let mut vector = |dtype, binades: f64| {
        Stored::vector(dtype, (0..count).map(|_| rounded(draw.spread(-binades, binades), dtype)))
    };
    [vector(dtypes[0], 8.0), vector(dtypes[1], 14.0), vector(dtypes[1], 14.0)]
}

// The oracle.

/// One element of a parameter with what its optimizer remembers of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Element {
    /// The `f32` value that is stepped.
    pub(super) master: f32,
    /// Momentum, or the first moment.
    pub(super) first: f32,
    /// The second moment.
    pub(super) second: f32,
    /// The largest second moment so far, of `AMSGrad`.
    pub(super) largest: f32,
    /// Steps applied so far.
    pub(super) steps: i32,
}

/// A turn as numbers: the rule in force, each parameter's scaled gradient, and the scale they were made with.
#[derive(Clone, Debug)]
pub(super) struct TurnValues<'a> {
    /// How parameters move.
    pub(super) rule: UpdateRule,
    /// By parameter, in the parameters' order.
    pub(super) grads: Grads<'a>,
    /// The scale that the gradients have to be divided by.
    pub(super) scale: f64,
    /// True where the scale has diverged.
    pub(super) halted: bool,
    /// How the unscaled gradients are clipped, if at all.
    pub(super) clip: Option<Clip>,
    /// Scaled gradients that step together with these.
    pub(super) beside: Option<Grads<'a>>,
}

/// The masters of `params` after `turns`.
pub(super) fn train(params: &[Vec<f64>], turns: &[TurnValues<'_>]) -> Vec<Vec<f32>> {
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
    (clip::clip_grads(&grads, clip), unmeasured)
}

macro_rules! by_rule {
    ({} $($rule:ident $name:ident)*) => {
        /// Moves `element` by the unscaled gradient `g`.
        fn step(rule: &UpdateRule, element: &mut Element, g: f32) {
            match rule {
                $(UpdateRule::$rule(rule) => super::$name::step(rule, element, g),)*
                other => panic!("{other:?} is no rule of the table"),
            }
        }

        fn weight_decay(rule: &mut UpdateRule) -> &mut f64 {
            match rule {
                $(UpdateRule::$rule(rule) => &mut rule.weight_decay,)*
                other => panic!("{other:?} is no rule of the table"),
            }
        }
    };
}

binade_master_weights::for_each_rule!([by_rule]);

/// Rounds once to `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
pub(super) fn narrow(x: f64) -> f32 {
    x as f32
}
