//! Rules that a policy may answer.

use binade_core::DType;
use std::{fmt, sync::Arc};

/// Rule for the castable operands of a call: all of its floating-point operands but `f64`.
///
/// A clone allocates nothing.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum CastRule {
    /// Runs in the types given.
    Untouched,
    /// Casts to the region's type.
    Lower,
    /// Casts to `f32`.
    F32,
    /// Leaves the operands, and asks for an `f32` result if the first of them is castable.
    F32Output,
    /// Casts to the widest among the operands; bf16 with f16 is `f32`.
    Promote,
    /// Casts as `Promote` does, but refuses a castable operand that is neither of the region's type nor `f32`, in any order. torch
    /// raises on most orders only.
    PromoteStrict,
    /// Casts to this floating-point type, whatever the region says.
    To(#[cfg_attr(feature = "serde", serde(deserialize_with = "crate::saved::float"))] DType),
    /// Refuses, with advice: what to do instead, as a clause.
    Banned(Arc<str>),
    /// Refuses: the policy is strict, and has no rule for this operation.
    Unlisted,
}

impl fmt::Display for CastRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untouched => f.pad("untouched"),
            Self::Lower => f.pad("lower"),
            Self::F32 => f.pad("f32"),
            Self::F32Output => f.pad("f32 output"),
            Self::Promote => f.pad("promote"),
            Self::PromoteStrict => f.pad("promote, region's type only"),
            Self::To(dtype) => write!(f, "to {dtype}"),
            Self::Banned(_) => f.pad("banned"),
            Self::Unlisted => f.pad("unlisted"),
        }
    }
}
