//! Values of a Python dictionary, in no format: the kinds that scaler states are made of.

use std::collections::BTreeMap;

/// Value in a dictionary.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Python's `None`.
    Null,
    /// Flag.
    Bool(bool),
    /// Whole number without a decimal point.
    Integer(i64),
    /// Other number, infinities and NaN included.
    Number(f64),
    /// Text.
    Text(String),
    /// List, tuple, or array of one dimension.
    List(Vec<Self>),
    /// Dictionary within the dictionary.
    Dictionary(Dictionary),
}

impl Value {
    /// Describes the value for an error.
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

/// Dictionary: values by key, in the order of the keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dictionary(pub BTreeMap<String, Value>);

impl<K: Into<String>, const N: usize> From<[(K, Value); N]> for Dictionary {
    fn from(items: [(K, Value); N]) -> Self {
        Self(items.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
}
