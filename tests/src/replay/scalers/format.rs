//! The format of a library's runs: `data/golden/README.md` describes it.

use super::super::bits::exponent;
use super::super::error::Wrong;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
pub(in super::super) struct Recorded {
    pub(super) library: String,
    pub(super) version: String,
    pub(super) runs: Vec<Run>,
}

/// The scale before each step and after the last; null where it was infinite.
#[derive(Debug, Deserialize)]
pub(super) struct Run {
    pub(super) rule: Rule,
    /// A step each: `x` overflowed, `.` did not.
    pub(super) overflow: String,
    pub(super) scale: Vec<Option<f64>>,
    pub(super) saved: Vec<SavedAt>,
    /// The error that the last step raised.
    pub(super) raised: Option<String>,
    /// The largest gradient of each step, for a rule that predicts.
    #[serde(default)]
    pub(super) magnitude: Vec<Option<f64>>,
}

/// A state, saved before the step of this number.
#[derive(Debug, Deserialize)]
pub(super) struct SavedAt {
    pub(super) after: usize,
    pub(super) state: Value,
}

impl Run {
    /// Returns for each step true if it overflowed.
    pub(super) fn overflows(&self) -> Result<Vec<bool>, Wrong> {
        let wrong =
            || Wrong::Recording("a step is x or a full stop, and has a scale after it".into());
        let steps = self.overflow.bytes().map(|step| match step {
            b'x' => Ok(true),
            b'.' => Ok(false),
            _ => Err(wrong()),
        });
        let steps: Vec<_> = steps.collect::<Result<_, _>>()?;
        let scales = steps.len() + usize::from(self.raised.is_none());
        if self.scale.len() == scales && !steps.is_empty() { Ok(steps) } else { Err(wrong()) }
    }
}

/// The arguments that the library's scaler was made with.
#[derive(Debug, Deserialize)]
pub(super) struct Rule(Map<String, Value>);

impl Rule {
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(super) fn number(&self, key: &str) -> Result<f64, Wrong> {
        self.0.get(key).and_then(Value::as_f64).ok_or_else(|| absent(key))
    }

    pub(super) fn count(&self, key: &str) -> Result<u32, Wrong> {
        let count = self.0.get(key).and_then(Value::as_u64).and_then(|count| count.try_into().ok());
        count.ok_or_else(|| absent(key))
    }

    /// Returns true if it is there and true.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.0.get(key) == Some(&Value::Bool(true))
    }

    /// Returns true if it is there and false.
    pub(super) fn is_unset(&self, key: &str) -> bool {
        self.0.get(key) == Some(&Value::Bool(false))
    }

    /// The exponent of a power of two.
    pub(super) fn exponent(&self, key: &str) -> Result<i32, Wrong> {
        let value = self.number(key)?;
        let found = exponent(value);
        found.ok_or_else(|| Wrong::Recording(format!("`{key}` is {value}, no power of two")))
    }
}

fn absent(key: &str) -> Wrong {
    Wrong::Recording(format!("its rule has no usable `{key}`"))
}
