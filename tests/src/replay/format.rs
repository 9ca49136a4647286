//! Element types as recordings name them, and their codes.

use super::error::Wrong;
use binade_core::DType;
use binade_core::cast::{E4M3, E5M2, OnOverflow};
use half::{bf16, f16};

/// An element type with its codes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Format {
    Bf16,
    F16,
    F32,
    E4m3,
    E5m2,
}

impl Format {
    pub(super) fn named(name: &str) -> Result<Self, Wrong> {
        match name {
            "bf16" | "bfloat16" => Ok(Self::Bf16),
            "f16" | "float16" => Ok(Self::F16),
            "f32" | "float32" => Ok(Self::F32),
            "e4m3fn" => Ok(Self::E4m3),
            "e5m2" => Ok(Self::E5m2),
            _ => Err(Wrong::Recording(format!("the element type {name} is not known here"))),
        }
    }

    pub(super) fn dtype(self) -> DType {
        match self {
            Self::Bf16 => DType::BF16,
            Self::F16 => DType::F16,
            Self::F32 => DType::F32,
            Self::E4m3 => DType::E4M3,
            Self::E5m2 => DType::E5M2,
        }
    }

    /// What torch does beyond the largest value, since 2.15.
    pub(super) fn torch(self) -> OnOverflow {
        if self == Self::E4m3 { OnOverflow::Saturate } else { OnOverflow::NonFinite }
    }

    /// Bits of significand, the leading one included.
    pub(super) fn significand(self) -> i32 {
        match self {
            Self::Bf16 => 8,
            Self::F16 => 11,
            Self::F32 => 24,
            Self::E4m3 => 4,
            Self::E5m2 => 3,
        }
    }

    /// The exponent of the smallest subnormal.
    pub(super) fn smallest(self) -> i32 {
        match self {
            Self::Bf16 => -133,
            Self::F16 => -24,
            Self::F32 => -149,
            Self::E4m3 => -9,
            Self::E5m2 => -16,
        }
    }

    /// The value of a code.
    pub(super) fn decode(self, code: u32) -> Result<f32, Wrong> {
        let wide = || Wrong::Recording(format!("{code:#x} is too wide for {self:?}"));
        let narrow16 = || u16::try_from(code).map_err(|_| wide());
        let narrow8 = || u8::try_from(code).map_err(|_| wide());
        Ok(match self {
            Self::Bf16 => bf16::from_bits(narrow16()?).to_f32(),
            Self::F16 => f16::from_bits(narrow16()?).to_f32(),
            Self::F32 => f32::from_bits(code),
            Self::E4m3 => E4M3::from_bits(narrow8()?).to_f32(),
            Self::E5m2 => E5M2::from_bits(narrow8()?).to_f32(),
        })
    }

    pub(super) fn decoded(self, codes: &[u32]) -> Result<Vec<f32>, Wrong> {
        codes.iter().map(|&code| self.decode(code)).collect()
    }
}
