//! Variables of Keras's `LossScaleOptimizer`, in Keras 3 and in tf-keras.

use super::{Exported, Imported, InterchangeError, rule};
use binade_grad_scaler::{LossScale, ScaleState};

/// Variables of Keras 3: the optimizer's own two. The growth interval is in its configuration, not among them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct KerasState {
    /// Good steps since the scale last moved.
    pub step_counter: i64,
    /// Scale.
    pub dynamic_scale: f64,
}

/// Variables of tf-keras, by their names in its checkpoints. Unlike Keras 3 it has a floor of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct TfKerasState {
    /// Scale.
    pub current_loss_scale: f64,
    /// Good steps since the scale last moved.
    pub good_steps: i64,
}

impl KerasState {
    /// Imports the rule and the state. `rule` has the settings that Keras does not save: use `LossScale::preset("keras")` with the interval of
    /// `dynamic_growth_steps`.
    ///
    /// # Errors
    ///
    /// Returns an error if the scale is outside the limits, if a counter is below 0, or if Keras cannot follow the rule.
    pub fn import(&self, rule: &LossScale) -> Result<Imported, InterchangeError> {
        rule::doubles_and_halves("Keras", rule)?;
        let scale = ("dynamic_scale", self.dynamic_scale);
        rule::import_pair(rule, scale, ("step_counter", self.step_counter))
    }

    /// Exports the values that the two variables are to be assigned.
    ///
    /// # Errors
    ///
    /// If the rule does not double and halve, tolerates overflows, or predicts.
    pub fn export(
        rule: &LossScale,
        state: &ScaleState,
    ) -> Result<Exported<Self>, InterchangeError> {
        rule::doubles_and_halves("Keras", rule)?;
        let saved =
            Self { step_counter: state.good_steps.into(), dynamic_scale: state.factor().into() };
        Ok(Exported { saved, notes: rule::notes(rule, state, None) })
    }
}

impl TfKerasState {
    /// Imports the rule and the state. `rule` has the settings that tf-keras does not save: use `LossScale::preset("keras")` with limits of
    /// `0..=126`, since tf-keras has a floor of 1, and with the interval of `dynamic_growth_steps`.
    ///
    /// # Errors
    ///
    /// Returns an error if the scale is outside the limits, if a counter is below 0, or if tf-keras cannot follow the rule.
    pub fn import(&self, rule: &LossScale) -> Result<Imported, InterchangeError> {
        rule::doubles_and_halves("tf-keras", rule)?;
        let scale = ("current_loss_scale", self.current_loss_scale);
        rule::import_pair(rule, scale, ("good_steps", self.good_steps))
    }

    /// Exports the values that the two variables are to be assigned.
    ///
    /// # Errors
    ///
    /// If the rule does not double and halve, tolerates overflows, or predicts.
    pub fn export(
        rule: &LossScale,
        state: &ScaleState,
    ) -> Result<Exported<Self>, InterchangeError> {
        rule::doubles_and_halves("tf-keras", rule)?;
        let saved =
            Self { current_loss_scale: state.factor().into(), good_steps: state.good_steps.into() };
        Ok(Exported { saved, notes: rule::notes(rule, state, Some(0)) })
    }
}
