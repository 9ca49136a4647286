//! Kinds of list that an operation can be on.

use std::fmt;

/// List of a preset, under torch's name if torch has it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Category {
    /// List cast to the low type: torch's `lower_precision_fp`, Apex's FP16 lists.
    Lower,
    /// List cast to `f32`: torch's `fp32`, Apex's FP32 lists.
    F32,
    /// List that is asked for an `f32` result while its operands stay: torch's `fp32_set_opt_dtype`.
    F32Output,
    /// List that is asked for an `f32` result through another overload: torch's `fp32_append_dtype`.
    F32Append,
    /// List cast to the widest operand: torch's `promote`, Apex's CASTS and `SEQUENCE_CASTS`.
    Promote,
    /// List refused in a region.
    Banned,
    /// Operations on no registry, which torch leaves to its own type promotion; that widens mixed operands.
    BuiltinPromote,
}

impl Category {
    /// Kinds of list in order.
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
