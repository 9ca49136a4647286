//! Runs of a few turns, for every optimizer, and their comparison.
//!
//! The oracle takes a parameter through several turns. Each turn unscales and checks the gradient, and steps the parameter or skips it.

use super::cast::rounded;
use super::clip;
use super::norm::norm;
use super::prelude::*;
use super::unscale::{Set, one, unscale, upload};
use crate::{Clip, TrainStep};
use binade_grad_scaler::ScaleState;
use binade_master_weights::{MasterStore, UpdateRule};

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
}

/// Parameters and their turns, from fresh masters.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) params: Vec<(&'static str, Stored)>,
    pub(super) moves: Vec<Move>,
    pub(super) store: MasterStore,
}

impl Run {
    pub(super) fn new(params: Vec<(&'static str, Stored)>, moves: Vec<Move>) -> Self {
        Self { params, moves, store: MasterStore::Copy }
    }

    /// Returns a run of one parameter, `w`, and its gradients, scaled by 2^10.
    pub(super) fn single(param: Stored, moves: Vec<(UpdateRule, Stored)>) -> Self {
        let moves = moves.into_iter().map(|(rule, grad)| Move::new(rule, one(grad), 10));
        Self::new(vec![("w", param)], moves.collect())
    }

    /// Trains, and compares every parameter by the operation's agreement.
    pub(super) fn near<S: Backend>(&self, s: &S, check: &mut Check) -> Verdict {
        self.each(s, check, None, |index| self.wanted(index))
    }

    /// Trains, and compares every parameter bit by bit: for skips, and for values that every arithmetic rounds alike.
    pub(super) fn exact<S: Backend>(&self, s: &S, check: &mut Check) -> Verdict {
        self.each(s, check, Some(Agreement::Bits), |index| self.wanted(index))
    }

    /// Trains, and compares every parameter with its wanted values.
    pub(super) fn each<S: Backend>(
        &self,
        s: &S,
        check: &mut Check,
        agreement: Option<Agreement>,
        wanted: impl Fn(usize) -> Vec<f64>,
    ) -> Verdict {
        self.compare(s, |index, inputs, got| check.values(inputs, got, &wanted(index), agreement))
    }

    /// Trains, and calls `compare` with every parameter: its index, its inputs, and its value.
    pub(super) fn compare<S: Backend>(
        &self,
        s: &S,
        mut compare: impl FnMut(usize, &[&Stored], &Stored) -> Verdict,
    ) -> Verdict {
        let trained = self.train(s)?;
        for (index, (name, param)) in self.params.iter().enumerate() {
            let Some(after) = trained.iter().find(|after| &*after.name == *name) else {
                let why = format!("parameter `{name}` is gone after training");
                return Err(CaseError::Subject(SubjectError::Failed(why)));
            };
            let got = get(s, &after.value, param.dtype, &param.shape)?;
            let grads = self.moves.iter().flat_map(|turn| &turn.grads);
            let grads = grads.filter(|grad| grad.0 == *name).filter_map(|grad| grad.1.as_ref());
            let inputs: Vec<&Stored> = std::iter::once(param).chain(grads).collect();
            compare(index, &inputs, &got)?;
        }
        Ok(())
    }

    /// Trains on wrong input, and requires an error, at the latest when a parameter is read.
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
        Ok(match self.store {
            MasterStore::Copy => s.train(params, turns)?,
            store => s.train_by(store, params, turns)?,
        })
    }

    /// Returns the gradients in the parameters' order, as the oracle takes them.
    fn in_order(&self, grads: &Set) -> Set {
        let of = |name: &str| grads.iter().find(|grad| grad.0 == name)?.1.clone();
        self.params.iter().map(|(name, _)| (*name, of(name))).collect()
    }

    /// Returns the oracle's masters of one parameter.
    fn wanted(&self, index: usize) -> Vec<f64> {
        train(self).swap_remove(index).iter().map(|element| f64::from(element.master)).collect()
    }
}

/// Returns `rule` without the terms that change a parameter. Its first step from fresh state fills the moments, exactly or with one rounding that
/// every arithmetic shares. So a second step starts from the same state on every device.
pub(super) fn at_rest(rule: UpdateRule) -> UpdateRule {
    let mut rule = rule.with_lr(0.0);
    *weight_decay(&mut rule) = 0.0;
    rule
}

/// Returns values that do not cancel in a step, so that a difference in ulps is meaningful: parameters in ±[1/2, 2), and scaled gradients of the same
/// signs whose unscaled values are in ±[1/4, 1).
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

/// Returns values of both signs and many binades, for arithmetic with all roundings of the oracle.
pub(super) fn wild(dtypes: [DType; 2], count: usize, seed: usize) -> [Stored; 3] {
    let mut draw = Draw::new(seed);
    let mut vector = |dtype, binades: f64| {
        Stored::vector(dtype, (0..count).map(|_| rounded(draw.spread(-binades, binades), dtype)))
    };
    [vector(dtypes[0], 8.0), vector(dtypes[1], 14.0), vector(dtypes[1], 14.0)]
}

// The oracle.

/// One element of a parameter, with its optimizer state.
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

/// Returns the parameters of a run after its turns.
fn train(run: &Run) -> Vec<Vec<Element>> {
    let fresh = |p: f64| Element { master: narrow(p), ..Element::default() };
    let params = run.params.iter().map(|(_, param)| param.values().map(fresh).collect());
    let mut state: Vec<Vec<Element>> = params.collect();
    for Move { rule, grads, scale, clip, beside } in &run.moves {
        let (grads, found) = unscale(&run.in_order(grads), *scale);
        let beside = beside.as_ref().is_some_and(|set| unscale(set, *scale).1.is_raised());
        let unmeasured = match clip {
            Some(Clip::Norm(which, _)) => !narrow(norm(*which, &grads)).is_finite(),
            Some(Clip::Value(_)) | None => false,
        };
        if found.is_raised() || beside || unmeasured {
            continue;
        }
        let grads = clip.map_or(grads.clone(), |clip| clip::clip_grads(&grads, clip));
        for (elements, grad) in state.iter_mut().zip(grads) {
            for (element, g) in elements.iter_mut().zip(grad.into_iter().flatten()) {
                step(rule, element, narrow(g));
            }
        }
    }
    state
}

macro_rules! by_rule {
    ({} $($rule:ident $name:ident)* [$($whole:ident $whole_name:ident)*]) => {
        /// Steps `element` by the unscaled gradient `g`.
        pub(super) fn step(rule: &UpdateRule, element: &mut Element, g: f32) {
            match rule {
                $(UpdateRule::$rule(rule) => super::$name::step(rule, element, g),)*
                other => panic!("{other:?} has no step of an element alone"),
            }
        }

        fn weight_decay(rule: &mut UpdateRule) -> &mut f64 {
            match rule {
                $(UpdateRule::$rule(rule) => &mut rule.weight_decay,)*
                other => panic!("{other:?} has no step of an element alone"),
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
