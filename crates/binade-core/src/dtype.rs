//! Element types, and the numbers that define their formats.

mod format;

pub use format::Format;

use std::fmt;

/// Type of a tensor's elements.
///
/// Sixteen-bit and narrower formats are listed from the widest exponent range to the narrowest.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum DType {
    /// bfloat16: 8 significant bits, the exponents of `f32`.
    BF16,
    /// IEEE 754 binary16: 11 significant bits, normal from 2^-14, largest 65504.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64: never cast.
    F64,
    /// OCP 8-bit E4M3 (`e4m3fn`): 4 significant bits, largest 448, no infinity.
    E4M3,
    /// OCP 8-bit E5M2: 3 significant bits, largest 57344, with infinities.
    E5M2,
    /// Signed 64-bit integers: never cast.
    I64,
    /// Signed 32-bit integers: never cast.
    I32,
    /// Unsigned 8-bit integers: never cast.
    U8,
    /// Booleans: never cast.
    Bool,
}

impl DType {
    /// Returns true if autocast may cast the type: it is floating-point, and not `f64`.
    pub const fn is_castable(self) -> bool {
        matches!(self, Self::BF16 | Self::F16 | Self::F32 | Self::E4M3 | Self::E5M2)
    }

    /// Returns true if elements are floating-point numbers.
    pub const fn is_float(self) -> bool {
        self.is_castable() || matches!(self, Self::F64)
    }

    /// Returns the bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::BF16 | Self::F16 => 2,
            Self::E4M3 | Self::E5M2 | Self::U8 | Self::Bool => 1,
        }
    }

    /// Returns the name of the type in torch and safetensors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BF16 => "bf16",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::E4M3 => "e4m3",
            Self::E5M2 => "e5m2",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::U8 => "u8",
            Self::Bool => "bool",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
