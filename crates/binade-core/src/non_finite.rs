//! Infinities and NaN in text formats: JSON does not have these numbers, but a report of an overflow may contain them.
//!
//! The module is for `#[serde(with = …)]` on a field.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Number, or the words `inf`, `-inf` and `NaN` as `f32` displays and parses them.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Written {
    Number(f32),
    Words(String),
}

impl Written {
    fn of(x: f32) -> Self {
        if x.is_finite() { Self::Number(x) } else { Self::Words(x.to_string()) }
    }

    fn read<E: Error>(self) -> Result<f32, E> {
        match self {
            Self::Number(x) if x.is_finite() => Ok(x),
            Self::Number(_) => {
                Err(E::custom("a number beyond f32: an infinity is written as `inf`"))
            }
            Self::Words(words) => words.parse().map_err(E::custom),
        }
    }
}

/// Serialises the number.
///
/// # Errors
///
/// The errors of the format.
pub fn serialize<S: Serializer>(x: &f32, to: S) -> Result<S::Ok, S::Error> {
    if to.is_human_readable() { Written::of(*x).serialize(to) } else { x.serialize(to) }
}

/// Deserialises the number.
///
/// # Errors
///
/// The errors of the format, or for words that are no number.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f32, D::Error> {
    if from.is_human_readable() {
        Written::deserialize(from)?.read()
    } else {
        f32::deserialize(from)
    }
}

/// Serialisation of a number that may be missing.
pub mod option {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Written};

    /// Serialises the number.
    ///
    /// # Errors
    ///
    /// The errors of the format.
    pub fn serialize<S: Serializer>(x: &Option<f32>, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() { x.map(Written::of).serialize(to) } else { x.serialize(to) }
    }

    /// Deserialises the number.
    ///
    /// # Errors
    ///
    /// The errors of the format, or for words that are no number.
    pub fn deserialize<'de, D>(from: D) -> Result<Option<f32>, D::Error>
    where
        D: Deserializer<'de>,
    {
        if from.is_human_readable() {
            Option::<Written>::deserialize(from)?.map(Written::read).transpose()
        } else {
            Option::deserialize(from)
        }
    }
}
