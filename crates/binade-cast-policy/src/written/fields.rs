//! Tables and values of TOML, each with its place, so that an error tells its line.

use super::TomlError;
use binade_core::nearest_name;
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

/// Value with its full key, and the text.
pub(super) struct Field<'a> {
    text: &'a str,
    pub(super) key: String,
    /// Byte offset for errors: of the key, or of the value if it has none.
    at: usize,
    value: &'a DeValue<'a>,
}

/// Table with its full key, and the text.
pub(super) struct Fields<'a> {
    text: &'a str,
    key: String,
    at: usize,
    table: &'a DeTable<'a>,
}

/// Returns the line, from 1, of a byte.
pub(super) fn line(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count()
}

/// Returns the words as a list.
pub(super) fn listed(words: &[&'static str]) -> String {
    words.join(", ")
}

impl<'a> Fields<'a> {
    pub(super) fn root(text: &'a str, table: &'a DeTable<'a>) -> Self {
        Self { text, key: String::new(), at: 0, table }
    }

    /// Checks that every key is one of `valid`; the error names the first that is not.
    pub(super) fn only(self, valid: &[&'static str]) -> Result<Self, TomlError> {
        let unknown = self.table.keys().filter(|key| !valid.contains(&&**key.get_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(self) };
        Err(TomlError::UnknownKey {
            line: line(self.text, key.span().start),
            key: self.within(key.get_ref()),
            nearest: nearest_name(key.get_ref(), valid.iter().copied()),
            valid: listed(valid),
        })
    }

    /// Returns the value of `key`, if there is one.
    pub(super) fn get(&self, key: &str) -> Option<Field<'a>> {
        self.table.get_key_value(key).map(|entry| self.field(entry))
    }

    /// Returns the value of `key`, which is required.
    pub(super) fn need(&self, key: &str, wanted: &str) -> Result<Field<'a>, TomlError> {
        self.get(key).ok_or_else(|| self.missing(self.within(key), wanted))
    }

    pub(super) fn missing(&self, key: String, wanted: &str) -> TomlError {
        TomlError::Missing { line: line(self.text, self.at), key, wanted: wanted.into() }
    }

    /// Returns every name and its value.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> {
        self.table.iter().map(|entry| (&**entry.0.get_ref(), self.field(entry)))
    }

    fn field(
        &self,
        (key, value): (&'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>),
    ) -> Field<'a> {
        let (key, at) = (self.within(key.get_ref()), key.span().start);
        Field { text: self.text, key, at, value: value.get_ref() }
    }

    fn within(&self, key: &str) -> String {
        if self.key.is_empty() { key.into() } else { format!("{}.{key}", self.key) }
    }
}

impl<'a> Field<'a> {
    pub(super) fn line(&self) -> usize {
        line(self.text, self.at)
    }

    /// Returns the value as a table, or an error that names its kind.
    pub(super) fn table(&self, wanted: &'static str) -> Result<Fields<'a>, TomlError> {
        let DeValue::Table(table) = self.value else { return Err(self.wrong(wanted)) };
        Ok(Fields { text: self.text, key: self.key.clone(), at: self.at, table })
    }

    pub(super) fn as_array(&self) -> Option<impl Iterator<Item = Field<'a>>> {
        let DeValue::Array(array) = self.value else { return None };
        let (text, key) = (self.text, self.key.clone());
        Some(array.iter().map(move |item| Field {
            text,
            key: key.clone(),
            at: item.span().start,
            value: item.get_ref(),
        }))
    }

    pub(super) fn as_str(&self) -> Option<&'a str> {
        if let DeValue::String(text) = self.value { Some(&**text) } else { None }
    }

    pub(super) fn string(&self) -> Result<&'a str, TomlError> {
        self.as_str().ok_or_else(|| self.wrong("a string"))
    }

    pub(super) fn bool(&self) -> Result<bool, TomlError> {
        if let DeValue::Boolean(value) = *self.value {
            Ok(value)
        } else {
            Err(self.wrong("true or false"))
        }
    }

    /// Returns a number that compares: not NaN.
    pub(super) fn bound(&self) -> Result<f64, TomlError> {
        let bound = self.number()?;
        if bound.is_nan() {
            return Err(TomlError::NaN { line: self.line(), key: self.key.clone() });
        }
        Ok(bound)
    }

    /// Returns a float or a decimal integer, rounded to f64.
    fn number(&self) -> Result<f64, TomlError> {
        let digits = match self.value {
            DeValue::Float(float) => Some(float.as_str()),
            DeValue::Integer(integer) if integer.radix() == 10 => Some(integer.as_str()),
            _ => None,
        };
        let number = digits.and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| self.wrong("a decimal number"))
    }

    pub(super) fn wrong(&self, wanted: &'static str) -> TomlError {
        let (line, key) = (self.line(), self.key.clone());
        TomlError::WrongType { line, key, wanted, found: self.value.type_str() }
    }

    /// Returns the error of a `value` that is none of `valid`.
    pub(super) fn unknown(&self, value: &str, valid: &[&'static str]) -> TomlError {
        TomlError::UnknownValue {
            line: self.line(),
            key: self.key.clone(),
            value: value.into(),
            nearest: nearest_name(value, valid.iter().copied()),
            valid: listed(valid),
        }
    }
}
