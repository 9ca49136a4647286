//! The kinds of list an operation can be on.

use std::fmt;

/// A list of a preset, under the name torch gives it where torch has it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Category {
    /// torch's `lower_precision_fp`, Apex's FP16 lists.
    Lower,
    /// torch's `fp32`, Apex's FP32 lists.
    F32,
    /// torch's `fp32_set_opt_dtype`: the operation is asked for an `f32` result, its operands stay.
    F32Output,
    /// torch's `fp32_append_dtype`: the same, by way of another overload.
    F32Append,
    /// torch's `promote`, Apex's CASTS and `SEQUENCE_CASTS`.
    Promote,
    /// Refused in a region.
    Banned,
    /// On no registry, and left by torch to its own type promotion, which widens mixed operands.
    BuiltinPromote,
}

impl Category {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Lower,
        Self::F32,
        Self::F32Output,
        Self::F32Append,
        Self::Promote,
        Self::Banned,
        Self::BuiltinPromote,
    ];
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Lower => "lower precision",
            Self::F32 => "f32",
            Self::F32Output => "f32 output",
            Self::F32Append => "f32 output by overload",
            Self::Promote => "promote",
            Self::Banned => "banned",
            Self::BuiltinPromote => "built-in promotion",
        })
    }
}
