//! State of Apex's `amp.state_dict()`, with a scaler for every loss.

use super::{Exported, Imported, InterchangeError, rule};
use binade_grad_scaler::{LossScale, ScaleState};
use std::collections::BTreeMap;

/// State that Apex saves: `loss_scaler0`, `loss_scaler1` and so on, one for each of `num_losses`.
///
/// The window and the limits are arguments of `amp.initialize`, and are not saved.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "BTreeMap<String, ApexScaler>", into = "BTreeMap<String, ApexScaler>")
)]
pub struct ApexState(pub Vec<ApexScaler>);

/// Scaler of one loss.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct ApexScaler {
    /// Scale.
    pub loss_scale: f64,
    /// Good steps since the scale last moved.
    pub unskipped: i64,
}

impl TryFrom<BTreeMap<String, ApexScaler>> for ApexState {
    type Error = String;

    fn try_from(saved: BTreeMap<String, ApexScaler>) -> Result<Self, String> {
        let missing = |name: &str| {
            let keys: Vec<_> = saved.keys().map(String::as_str).collect();
            format!(
                "Apex's state has no `{name}`; its scalers are loss_scaler0, loss_scaler1 and so on, and it has {}",
                keys.join(", ")
            )
        };
        // The state has at least one scaler: an empty dictionary comes from amp with `enabled=False`.
        let names = (0..saved.len().max(1)).map(name);
        let scalers = names.map(|name| saved.get(&name).copied().ok_or_else(|| missing(&name)));
        scalers.collect::<Result<_, _>>().map(Self)
    }
}

impl From<ApexState> for BTreeMap<String, ApexScaler> {
    fn from(state: ApexState) -> Self {
        (0..).map(name).zip(state.0).collect()
    }
}

impl ApexState {
    /// Imports a rule and a state for each loss, in order. `rule` has the settings that Apex does not save: use `LossScale::preset("apex")` with the
    /// limits of `min_loss_scale` and `max_loss_scale`.
    ///
    /// # Errors
    ///
    /// Returns an error if a scale is outside the limits, if a counter is below 0, or if Apex's `LossScaler` cannot follow the rule.
    pub fn import(&self, rule: &LossScale) -> Result<Vec<Imported>, InterchangeError> {
        rule::doubles_and_halves("Apex", rule)?;
        let import = |(name, scaler): (String, &ApexScaler)| {
            let scale = (&*format!("{name}.loss_scale"), scaler.loss_scale);
            rule::import_pair(rule, scale, (&format!("{name}.unskipped"), scaler.unskipped))
        };
        (0..).map(name).zip(&self.0).map(import).collect()
    }

    /// Exports the states of all losses, in order, for `amp.load_state_dict`.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule does not double and halve, tolerates overflows, or predicts.
    pub fn export(
        rule: &LossScale,
        states: &[ScaleState],
    ) -> Result<Exported<Self>, InterchangeError> {
        rule::doubles_and_halves("Apex", rule)?;
        let scaler = |state: &ScaleState| ApexScaler {
            loss_scale: state.factor().into(),
            unskipped: state.good_steps.into(),
        };
        let mut notes: Vec<_> =
            states.iter().flat_map(|state| rule::notes(rule, state, None)).collect();
        notes.dedup();
        Ok(Exported { saved: Self(states.iter().map(scaler).collect()), notes })
    }
}

fn name(index: usize) -> String {
    format!("loss_scaler{index}")
}
