//! What a Python dictionary holds, without a format: the least that states are made of.

use std::collections::BTreeMap;

/// A value in a dictionary.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Python's `None`.
    Null,
    /// A flag.
    Bool(bool),
    /// A whole number without a decimal point.
    Integer(i64),
    /// Any other number, infinities and NaN included.
    Number(f64),
    /// A text.
    Text(String),
    /// A list, a tuple, or an array of one dimension.
    List(Vec<Self>),
    /// A dictionary within.
    Dictionary(Dictionary),
}

impl Value {
    /// What it is, as an error tells it.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Bool(value) => format!("the flag {value}"),
            Self::Integer(value) => format!("the integer {value}"),
            Self::Number(value) => format!("the number {value:?}"),
            Self::Text(value) => format!("the text {value:?}"),
            Self::List(values) => format!("a list of {}", values.len()),
            Self::Dictionary(inner) => format!("a dictionary of {}", inner.0.len()),
        }
    }
}

/// Values by key, in the order of the keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dictionary(pub BTreeMap<String, Value>);

impl<K: Into<String>, const N: usize> From<[(K, Value); N]> for Dictionary {
    fn from(items: [(K, Value); N]) -> Self {
        Self(items.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
}
