//! Variables of Keras's `LossScaleOptimizer`, in Keras 3 and in tf-keras.

use super::fields::saved;
use super::{Exported, Imported, InterchangeError, Note, Saved as _, numbers, rule};
use binade_grad_scaler::{LossScale, ScaleState};

/// Variables of Keras 3: the optimizer's own two. The growth interval is in its configuration, not among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KerasState {
    /// Good steps since the scale last moved.
    pub step_counter: i64,
    /// Scale.
    pub dynamic_scale: f64,
}

/// Variables of tf-keras, by their names in its checkpoints. Unlike Keras 3 it has a floor of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfKerasState {
    /// Scale.
    pub current_loss_scale: f64,
    /// Good steps since the scale last moved.
    pub good_steps: i64,
}

saved! { KerasState of "Keras": integer step_counter, number dynamic_scale; }

saved! { TfKerasState of "tf-keras": number current_loss_scale, integer good_steps; }

impl KerasState {
    /// Goes on by `rule`, which has what is not saved: `LossScale::preset("keras")`, with the interval that
    /// `dynamic_growth_steps` was.
    ///
    /// # Errors
    ///
    /// If the scale is out of reach, a counter is below 0, or Keras does not have the rule.
    pub fn import(&self, rule: &LossScale) -> Result<Imported, InterchangeError> {
        follows(Self::LIBRARY, rule)?;
        let scale = ("dynamic_scale", self.dynamic_scale);
        import(rule, scale, ("step_counter", self.step_counter))
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
        follows(Self::LIBRARY, rule)?;
        let saved =
            Self { step_counter: state.good_steps.into(), dynamic_scale: state.factor().into() };
        Ok(Exported { saved, notes: rule::notes(rule, state, None) })
    }
}

impl TfKerasState {
    /// Goes on by `rule`, which has what is not saved: `LossScale::preset("keras")` with its limits set to `0..=126`, since
    /// tf-keras has a floor of 1, and with the interval that `dynamic_growth_steps` was.
    ///
    /// # Errors
    ///
    /// If the scale is out of reach, a counter is below 0, or tf-keras does not have the rule.
    pub fn import(&self, rule: &LossScale) -> Result<Imported, InterchangeError> {
        follows(Self::LIBRARY, rule)?;
        let scale = ("current_loss_scale", self.current_loss_scale);
        import(rule, scale, ("good_steps", self.good_steps))
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
        follows(Self::LIBRARY, rule)?;
        let saved =
            Self { current_loss_scale: state.factor().into(), good_steps: state.good_steps.into() };
        Ok(Exported { saved, notes: rule::notes(rule, state, Some(0)) })
    }
}

fn follows(library: &'static str, rule: &LossScale) -> Result<(), InterchangeError> {
    rule::moves_by_one(library, rule)?;
    rule::backs_off_at_once(library, rule)
}

/// Imports a scale and a counter with their keys.
fn import(
    rule: &LossScale,
    (key, scale): (&str, f64),
    (counter, steps): (&str, i64),
) -> Result<Imported, InterchangeError> {
    let mut notes: Vec<Note> = Vec::new();
    let state = numbers::scale(key, scale, &mut notes)?;
    let good_steps = rule::good_steps(rule, counter, steps, &mut notes)?;
    Ok(rule::imported(*rule, ScaleState { good_steps, ..state }, notes))
}
