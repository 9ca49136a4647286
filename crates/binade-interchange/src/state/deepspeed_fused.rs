//! State of the scale that DeepSpeed's `FP16_Optimizer` (fused, without `ZeRO`) saves in its own `state_dict()`.

use super::deepspeed::{Iterations, one_factor};
use super::{Exported, FirstGrowth, Imported, InterchangeError, numbers, rule};
use binade_grad_scaler::{LossScale, ScaleState, Tolerance};

/// Keys of the scaler in `FP16_Optimizer.state_dict()` if `dynamic_loss_scale` is true. It has no hysteresis, and its floor is in
/// the configuration, not here.
///
/// The optimizer's other keys are ignored, and not written. A static scale, whose `dynamic_loss_scale` is false, is an error: use
/// [`LossScale::fixed`] for it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeepSpeedFusedState {
    /// Always true, since only a dynamic scale has a state.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::deepspeed::dynamic"))]
    pub dynamic_loss_scale: bool,
    /// Scale.
    pub cur_scale: f64,
    /// Number of updates so far.
    pub cur_iter: i64,
    /// Number of the last update that overflowed, from 0; -1 for none.
    pub last_overflow_iter: i64,
    /// Factor by which the scale grows and backs off.
    pub scale_factor: f64,
    /// Good steps between growths.
    pub scale_window: i64,
}

impl DeepSpeedFusedState {
    /// Imports the state. `rule` has the limits and the patience, which are not saved. The imported rule backs off at every overflow.
    ///
    /// # Errors
    ///
    /// Returns an error if a scale is outside the limits, if a factor is not a power of two, or if a counter is out of range.
    pub fn import(&self, rule: &LossScale) -> Result<Imported, InterchangeError> {
        let mut notes = Vec::new();
        let window = numbers::count("scale_window", self.scale_window, 1)?;
        let binades = numbers::growth("scale_factor", self.scale_factor)?;
        let mut rule = *rule;
        (rule.growth_exponent, rule.backoff_exponent) = (binades, binades);
        rule.growth_interval = window;
        (rule.tolerance, rule.log_max) = (Tolerance::None, None);
        let state = numbers::scale("cur_scale", self.cur_scale, &mut notes)?;
        let iterations = Iterations { now: self.cur_iter, last_overflow: self.last_overflow_iter };
        let late = FirstGrowth::AfterWindowAndOne;
        let state = iterations.import(late, window, state, &mut notes)?;
        Ok(rule::imported(rule, state, notes))
    }

    /// Exports the part of the scale for `load_state_dict`.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule grows and backs off by different factors, predicts, or tolerates overflows.
    pub fn export(
        rule: &LossScale,
        state: &ScaleState,
    ) -> Result<Exported<Self>, InterchangeError> {
        rule::backs_off_at_once("DeepSpeed's FP16_Optimizer", rule)?;
        let scale_factor = one_factor(rule)?;
        let iterations = Iterations::export(state, FirstGrowth::AfterWindowAndOne);
        let saved = Self {
            dynamic_loss_scale: true,
            cur_scale: state.factor().into(),
            cur_iter: iterations.now,
            last_overflow_iter: iterations.last_overflow,
            scale_factor,
            scale_window: rule.growth_interval.into(),
        };
        Ok(Exported { saved, notes: rule::notes(rule, state, None) })
    }
}
