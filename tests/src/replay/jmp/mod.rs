//! Traces of jmp's `DynamicLossScale`, by our rule where powers of two can express them; its policy strings, and facts.

mod facts;
mod published;

use super::bits::{Num, exponent, floats, narrow, same_bits};
use super::differences::Difference;
use super::error::{ReplayError, Wrong, same};
use super::notes::Notes;
use super::policies::{self, Answer};
use binade_grad_scaler::{LossScale, ScaleState, UpdateInputs};
use binade_master_weights::step::Factor;
use published::Published;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
pub(super) struct Recorded {
    traces: Vec<Trace>,
    policies: BTreeMap<String, Answer>,
    /// Types by type.
    #[serde(default)]
    cast_to_compute_f16: BTreeMap<String, String>,
    #[serde(default)]
    facts: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Trace {
    config: Config,
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
struct Config {
    init: Num,
    min: Num,
    factor: f64,
    period: u32,
}

/// Gradients and what they are unscaled; whether `adjust` was told that all were finite, which these gradients do not
/// decide; the scale and its counter afterwards.
#[derive(Debug, Deserialize)]
struct Step {
    grads: Vec<u32>,
    unscaled: Vec<u32>,
    finite: bool,
    scale: u32,
    counter: u32,
}

pub(super) fn replay(recorded: &Recorded, notes: &mut Notes) -> Result<(), ReplayError> {
    for (i, trace) in recorded.traces.iter().enumerate() {
        if let Some(start) = trace.start() {
            trace.replay(start, i, notes)?;
        } else {
            notes.differs(Difference::AnyFactor);
            trace.published(Published::new(&trace.config), 0, i, notes)?;
        }
    }
    policies::replay(&recorded.policies, notes)?;
    policies::casts("f16", &recorded.cast_to_compute_f16, notes)?;
    facts::replay(&recorded.facts, notes)
}

impl Config {
    /// Returns our rule that is the same, if it can be told: it never gives up, and has no ceiling of its own.
    fn rule(&self, floor: i32) -> Option<LossScale> {
        let by = exponent(self.factor).filter(|&by| by > 0)?;
        let mut rule = LossScale::dynamic();
        (rule.growth_exponent, rule.backoff_exponent) = (by, by);
        let [min, max] = [floor, 126].map(|exponent| 2_f32.powi(exponent));
        let rule = rule.with_limits(min, max).ok()?.with_growth_interval(self.period).ok()?;
        Some(rule.with_patience(u32::MAX))
    }
}

impl Trace {
    /// The rule and where it starts, if we can express both: our floors are binades, so that a scale with a significand
    /// must not have come down to one.
    fn start(&self) -> Option<(LossScale, ScaleState)> {
        let state = ScaleState::import(narrow(self.config.init.0))?;
        let floor = exponent(self.config.min.0)?;
        let above = |step: &Step| f32::from_bits(step.scale) > narrow(self.config.min.0);
        let reaches_no_floor = self.steps.iter().all(above);
        let expressible = floor <= state.exponent && (state.significand <= 1.0 || reaches_no_floor);
        expressible.then_some((self.config.rule(floor)?, state))
    }

    fn replay(
        &self,
        (rule, mut state): (LossScale, ScaleState),
        i: usize,
        notes: &mut Notes,
    ) -> Result<(), ReplayError> {
        for (t, step) in self.steps.iter().enumerate() {
            if step.grows_beyond(&rule, state) {
                notes.differs(Difference::ScaleBeyond2To126);
                let theirs = Published { scale: state.factor(), counter: state.good_steps };
                return self.published(theirs, t, i, notes);
            }
            let next = step.replay(&rule, state, notes);
            state = next.map_err(|wrong| wrong.at(format!("trace {i}, step {t}")))?;
            if state.diverged {
                notes.differs(Difference::OverflowAtTheFloor);
                state.diverged = false;
            }
            notes.compared("steps of jmp's loss scale", 1);
        }
        notes.compared("whole traces of jmp's loss scale", 1);
        Ok(())
    }

    /// Steps from `from` on, whose scale is not one of ours: held to the rule that jmp publishes, and unscaled by ours.
    fn published(
        &self,
        mut scale: Published,
        from: usize,
        i: usize,
        notes: &mut Notes,
    ) -> Result<(), ReplayError> {
        for (t, step) in self.steps.iter().enumerate().skip(from) {
            let next = step.published(&self.config, scale, notes);
            scale = next.map_err(|wrong| wrong.at(format!("trace {i}, step {t}")))?;
            notes.compared("steps of jmp's loss scale by jmp's own rule", 1);
        }
        Ok(())
    }
}

impl Step {
    fn replay(
        &self,
        rule: &LossScale,
        state: ScaleState,
        notes: &mut Notes,
    ) -> Result<ScaleState, Wrong> {
        self.unscaled_by(state.inverse(), notes)?;
        let next = rule.next(state, self.seen());
        same_bits("scale", &[next.factor()], &[self.scale])?;
        same("the counter", &next.good_steps, &self.counter)?;
        Ok(next)
    }

    fn published(
        &self,
        config: &Config,
        scale: Published,
        notes: &mut Notes,
    ) -> Result<Published, Wrong> {
        match ScaleState::import(scale.scale) {
            Some(state) => self.unscaled_by(state.inverse(), notes)?,
            None => notes.skipped("gradients unscaled by what is no scale here", 1),
        }
        let next = scale.next(config, self.finite);
        same_bits("scale", &[next.scale], &[self.scale])?;
        same("the counter", &next.counter, &self.counter)?;
        Ok(next)
    }

    fn unscaled_by(&self, inverse: f32, notes: &mut Notes) -> Result<(), Wrong> {
        let factor = Factor { inverse, ..Factor::ONE };
        let unscaled: Vec<_> = floats(&self.grads).into_iter().map(|x| factor.apply(x)).collect();
        same_bits("unscaled", &self.flushed(unscaled, notes), &self.unscaled)
    }

    fn seen(&self) -> UpdateInputs {
        UpdateInputs { overflow: !self.finite, skipped: !self.finite, ..UpdateInputs::default() }
    }

    /// Returns true if jmp grew past our ceiling, or stayed below it as growing had made infinity: as its rule has it.
    fn grows_beyond(&self, rule: &LossScale, state: ScaleState) -> bool {
        let grown = Some(state.factor() * 2_f32.powi(rule.growth_exponent))
            .filter(|scale| scale.is_finite());
        let theirs = grown.unwrap_or_else(|| state.factor()).to_bits();
        let is_due = self.finite && state.good_steps + 1 == rule.growth_interval;
        let ours = rule.next(state, self.seen()).factor().to_bits();
        is_due && self.scale == theirs && theirs != ours
    }

    /// Zero where zero was recorded and the gradient, or what it is unscaled, is subnormal; nothing else changed.
    fn flushed(&self, mut unscaled: Vec<f32>, notes: &mut Notes) -> Vec<f32> {
        for ((x, grad), &was) in unscaled.iter_mut().zip(floats(&self.grads)).zip(&self.unscaled) {
            let is_subnormal = x.is_subnormal() || grad.is_subnormal();
            if is_subnormal && *x != 0.0 && f32::from_bits(was) == 0.0 {
                *x = 0_f32.copysign(*x);
                notes.differs(Difference::SubnormalsFlushed);
            }
        }
        unscaled
    }
}
