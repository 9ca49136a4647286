//! Kinds of state tensors, and their names in a file.

use binade_core::{DType, TensorSpec};
use std::{fmt, str::FromStr};

/// Kind of a state tensor. Open: stores keep different ones.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum StateKind {
    /// The `f32` copy of a low-precision parameter.
    Master,
    /// The lower half of a master whose upper half is the parameter: little-endian words, as pairs of bytes.
    Remainder,
    /// Part that the parameter's rounding lost, in its own type.
    Compensation,
    /// A master in `f16`, times a power of two.
    ScaledMaster,
    /// The exponent of the power of two in `ScaledMaster`.
    Exponent,
    /// The parameter's number, which chooses its random words: a little-endian word, as four bytes.
    Number,
    /// Running norm of the tensor's gradients.
    Norm,
    /// A moment, counted from 0 in the rule's order: momentum for SGD; mean, mean of squares and the largest of these for
    /// Adam.
    Moment(u8),
    /// A moment stored in bf16, numbered like [`Moment`](Self::Moment).
    Bf16Moment(u8),
}

/// A word that no tensor goes by.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{0}` is kept for a parameter, which this version does not know; take the version that wrote it"
)]
pub struct UnknownStateKind(String);

const NAMES: [(StateKind, &str); 13] = [
    (StateKind::Master, "master"),
    (StateKind::Remainder, "remainder"),
    (StateKind::Compensation, "compensation"),
    (StateKind::ScaledMaster, "scaled_master"),
    (StateKind::Exponent, "exponent"),
    (StateKind::Number, "number"),
    (StateKind::Norm, "norm"),
    (StateKind::Moment(0), "moment0"),
    (StateKind::Moment(1), "moment1"),
    (StateKind::Moment(2), "moment2"),
    (StateKind::Bf16Moment(0), "bf16_moment0"),
    (StateKind::Bf16Moment(1), "bf16_moment1"),
    (StateKind::Bf16Moment(2), "bf16_moment2"),
];

impl StateKind {
    /// Returns the name in a file.
    pub(crate) fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("moment", |(_, name)| name)
    }

    /// Its elements for each of the parameter's; Returns `None` if its form does not depend on the parameter's shape.
    pub fn width(self) -> Option<usize> {
        let elements = |len| self.spec(DType::F32, &[len]).elements();
        elements(1).filter(|_| elements(0) == Some(0))
    }

    /// Its type and shape for a parameter of this type and shape.
    pub fn spec(self, stored: DType, shape: &[usize]) -> TensorSpec {
        match self {
            Self::Master | Self::Moment(_) => TensorSpec::new(DType::F32, shape),
            Self::Bf16Moment(_) => TensorSpec::new(DType::BF16, shape),
            Self::Remainder => TensorSpec::new(DType::U8, [shape, &[2]].concat()),
            Self::Compensation => TensorSpec::new(stored, shape),
            Self::ScaledMaster => TensorSpec::new(DType::F16, shape),
            Self::Norm => TensorSpec::new(DType::F32, [1]),
            Self::Exponent => TensorSpec::new(DType::I32, [1]),
            Self::Number => TensorSpec::new(DType::U8, [4]),
        }
    }
}

impl fmt::Display for StateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for StateKind {
    type Err = UnknownStateKind;

    fn from_str(word: &str) -> Result<Self, UnknownStateKind> {
        let known = NAMES.iter().find(|(_, name)| *name == word);
        known.map(|(kind, _)| *kind).ok_or_else(|| UnknownStateKind(word.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_as_it_is_written() {
        for (kind, name) in NAMES {
            assert_eq!((kind.to_string().as_str(), name.parse()), (name, Ok(kind)));
        }
        let widths = [1, 2, 1, 1].map(Some).into_iter().chain([None; 3]).chain([Some(1); 3]);
        for ((kind, _), width) in NAMES.into_iter().zip(widths) {
            assert_eq!(kind.width(), width, "{kind}");
        }
        for word in ["moment3", "moment", "Master", ""] {
            assert_eq!(word.parse::<StateKind>(), Err(UnknownStateKind(word.into())));
        }
    }
}
