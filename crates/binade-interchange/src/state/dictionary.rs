//! Reading by key: a key that is missing, unknown or of another type is named.

use super::{Dictionary, InterchangeError, Value};

/// Dictionary that is being read for a library.
pub(super) struct Fields<'a> {
    library: &'static str,
    /// Prefix of its keys in errors: `loss_scaler0.` within a dictionary of Apex.
    prefix: String,
    values: &'a Dictionary,
}

impl<'a> Fields<'a> {
    /// Reads all of `values`, which may have no key but those of `known`.
    pub(super) fn of(
        library: &'static str,
        values: &'a Dictionary,
        known: &[&str],
    ) -> Result<Self, InterchangeError> {
        Self::within(library, String::new(), values, known)
    }

    /// Reads a dictionary within a dictionary.
    pub(super) fn within(
        library: &'static str,
        prefix: String,
        values: &'a Dictionary,
        known: &[&str],
    ) -> Result<Self, InterchangeError> {
        if let Some(key) = values.0.keys().find(|key| !known.contains(&key.as_str())) {
            let (key, known) = (format!("{prefix}{key}"), known.join(", "));
            return Err(InterchangeError::Unknown { library, key, known });
        }
        Ok(Self { library, prefix, values })
    }

    pub(super) fn number(&self, key: &str) -> Result<f64, InterchangeError> {
        self.read(key, "a number", number)
    }

    pub(super) fn integer(&self, key: &str) -> Result<i64, InterchangeError> {
        self.read(key, "an integer", |value| match value {
            Value::Integer(value) => Some(*value),
            _ => None,
        })
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, InterchangeError> {
        self.read(key, "true or false", |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })
    }

    /// Refuses a scaler whose `key` says that it is static.
    pub(super) fn is_set(&self, key: &str, expected: &'static str) -> Result<(), InterchangeError> {
        if self.flag(key)? {
            return Ok(());
        }
        let (library, key, found) = (self.library, key.into(), "false".into());
        Err(InterchangeError::Kind { library, key, expected, found })
    }

    /// Returns the number of an array that holds one, or a bare one.
    pub(super) fn single(&self, key: &str) -> Result<f64, InterchangeError> {
        self.read(key, "a number, or a list of one", |value| match value {
            Value::List(values) => values.first().filter(|_| values.len() == 1).and_then(number),
            other => number(other),
        })
    }

    fn read<T>(
        &self,
        key: &str,
        expected: &'static str,
        take: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<T, InterchangeError> {
        let (library, name) = (self.library, || format!("{}{key}", self.prefix));
        let value = self.values.0.get(key);
        let value =
            value.ok_or_else(|| InterchangeError::Missing { library, key: name(), expected })?;
        take(value).ok_or_else(|| InterchangeError::Kind {
            library,
            key: name(),
            expected,
            found: value.describe(),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "as Python's float of it")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(value) => Some(*value),
        Value::Integer(value) => Some(*value as f64),
        _ => None,
    }
}
