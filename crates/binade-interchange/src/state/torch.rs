//! State of `torch.amp.GradScaler.state_dict()`.

use super::{Exported, Imported, InterchangeError, numbers, rule};
use crate::protocol::StateDict;
use binade_grad_scaler::{LossScale, ScaleState};

impl StateDict {
    /// Imports the rule and the state of a [`Scaler`](binade_grad_scaler::Scaler). The limits are those of exact scales, since torch has none.
    ///
    /// # Errors
    ///
    /// Returns an error if a scale is outside the limits, if a factor is not a power of two, or if a counter is below 0.
    pub fn import(&self) -> Result<Imported, InterchangeError> {
        let (mut notes, mut rule) = (Vec::new(), LossScale::torch());
        rule.growth_exponent = numbers::growth("growth_factor", self.growth_factor)?;
        rule.backoff_exponent = numbers::backoff("backoff_factor", self.backoff_factor)?;
        rule::set_interval(&mut rule, "growth_interval", self.growth_interval, &mut notes)?;
        let tracker = self.growth_tracker;
        let good_steps = rule::good_steps(&rule, "_growth_tracker", tracker, &mut notes)?;
        let state = numbers::scale("scale", self.scale, &mut notes)?;
        Ok(rule::imported(rule, ScaleState { good_steps, ..state }, notes))
    }

    /// Exports the state for `load_state_dict`. A rule that never changes the scale becomes factors of 1, which torch loads, though its constructor
    /// refuses them.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule tolerates overflows, or predicts.
    pub fn export(
        rule: &LossScale,
        state: &ScaleState,
    ) -> Result<Exported<Self>, InterchangeError> {
        rule::backs_off_at_once("torch", rule)?;
        let saved = Self {
            scale: state.factor().into(),
            growth_factor: numbers::power(rule.growth_exponent.max(0)),
            backoff_factor: numbers::power(-rule.backoff_exponent.max(0)),
            growth_interval: rule.growth_interval.into(),
            growth_tracker: state.good_steps.into(),
        };
        Ok(Exported { saved, notes: rule::notes(rule, state, None) })
    }
}
