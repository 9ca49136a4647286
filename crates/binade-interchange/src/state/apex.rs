//! Apex's `amp.state_dict()`: a scaler for every loss.

use super::dictionary::Fields;
use super::{Dictionary, Exported, Imported, InterchangeError, Saved, Value, numbers, rule};
use binade_grad_scaler::{LossScale, ScaleState};

/// State that Apex saves: `loss_scaler0`, `loss_scaler1` and so on, one for each of `num_losses`.
///
/// The window and the limits are arguments of `amp.initialize`, and are not saved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApexState(pub Vec<ApexScaler>);

/// Scaler of one loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ApexScaler {
    /// Scale.
    pub loss_scale: f64,
    /// Good steps since the scale last moved.
    pub unskipped: i64,
}

impl Saved for ApexState {
    const LIBRARY: &'static str = "Apex";

    fn read(dictionary: &Dictionary) -> Result<Self, InterchangeError> {
        if let Some(key) = dictionary.0.keys().find(|key| !is_name(key)) {
            let (library, key, known) =
                (Self::LIBRARY, key.clone(), "loss_scaler0, loss_scaler1, …");
            return Err(InterchangeError::Unknown { library, key, known: known.into() });
        }
        // There is at least one: an empty dictionary is that of amp with `enabled=False`.
        let scalers =
            (0..dictionary.0.len().max(1)).map(|i| ApexScaler::read(dictionary, &name(i)));
        scalers.collect::<Result<_, _>>().map(Self)
    }

    fn write(&self) -> Dictionary {
        let scalers = self.0.iter().enumerate();
        Dictionary(scalers.map(|(i, scaler)| (name(i), scaler.write())).collect())
    }
}

impl ApexScaler {
    fn read(dictionary: &Dictionary, name: &str) -> Result<Self, InterchangeError> {
        let (library, key) = (ApexState::LIBRARY, name.to_owned());
        let expected = "a dictionary of `loss_scale` and `unskipped`";
        let fields = match dictionary.0.get(name) {
            Some(Value::Dictionary(fields)) => fields,
            Some(other) => {
                let found = other.describe();
                return Err(InterchangeError::Kind { library, key, expected, found });
            }
            None => return Err(InterchangeError::Missing { library, key, expected }),
        };
        let known = ["loss_scale", "unskipped"];
        let fields = Fields::within(library, format!("{name}."), fields, &known)?;
        Ok(Self {
            loss_scale: fields.number("loss_scale")?,
            unskipped: fields.integer("unskipped")?,
        })
    }

    fn write(&self) -> Value {
        let loss_scale = ("loss_scale", Value::Number(self.loss_scale));
        let unskipped = ("unskipped", Value::Integer(self.unskipped));
        Value::Dictionary([loss_scale, unskipped].into())
    }

    fn import(&self, rule: &LossScale, name: &str) -> Result<Imported, InterchangeError> {
        let (mut notes, key) = (Vec::new(), |field| format!("{name}.{field}"));
        let state = numbers::scale(&key("loss_scale"), self.loss_scale, &mut notes)?;
        let good_steps = rule::good_steps(rule, &key("unskipped"), self.unskipped, &mut notes)?;
        Ok(rule::imported(*rule, ScaleState { good_steps, ..state }, notes))
    }
}

impl ApexState {
    /// Goes on by `rule`, which has what is not saved: `LossScale::preset("apex")`, with the limits that `min_loss_scale` and
    /// `max_loss_scale` were. One for each loss, in order.
    ///
    /// # Errors
    ///
    /// If a scale is out of reach, a counter is below 0, or Apex's `LossScaler` does not have the rule.
    pub fn import(&self, rule: &LossScale) -> Result<Vec<Imported>, InterchangeError> {
        follows(rule)?;
        let scalers = self.0.iter().enumerate();
        scalers.map(|(i, scaler)| scaler.import(rule, &name(i))).collect()
    }

    /// Exports the states of all losses, in order, for `amp.load_state_dict`.
    ///
    /// # Errors
    ///
    /// If the rule does not double and halve, tolerates overflows, or predicts.
    pub fn export(
        rule: &LossScale,
        states: &[ScaleState],
    ) -> Result<Exported<Self>, InterchangeError> {
        follows(rule)?;
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

fn follows(rule: &LossScale) -> Result<(), InterchangeError> {
    rule::moves_by_one(ApexState::LIBRARY, rule)?;
    rule::backs_off_at_once(ApexState::LIBRARY, rule)
}

fn name(index: usize) -> String {
    format!("loss_scaler{index}")
}

fn is_name(key: &str) -> bool {
    let index = key.strip_prefix("loss_scaler").and_then(|index| index.parse().ok());
    index.is_some_and(|index| name(index) == key)
}
