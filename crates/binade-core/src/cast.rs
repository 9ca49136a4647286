//! Exact scalar conversions: each rounds once, from `f32`, to nearest even.
//!
//! `bf16` and `f16` come from `half`; [`E4M3`] and [`E5M2`] are here, because existing codecs disagree on what happens beyond the largest value.
//! There is no cast from `f64` to sixteen bits: a detour through `f32` would round twice.

pub(crate) mod codec;
mod float8;

pub use float8::{E4M3, E5M2};

use crate::DType;
use half::{bf16, f16};

/// Result of a cast of a value that rounds beyond a format's largest, or of infinity.
///
/// NaN is not an overflow: it stays NaN either way.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum OnOverflow {
    /// Largest finite value, with the sign: torch's E4M3 since 2.15, CUDA's `SATFINITE`.
    ///
    /// Infinity becomes finite as well, so this hides an overflow: check for one before the cast.
    Saturate,
    /// Infinity, or NaN if the format has none: IEEE 754's rule, and `ml_dtypes`' for E4M3.
    NonFinite,
}

/// Returns `value` as it reads back after being stored as `to`; `None` if [`DType::is_castable`] is false.
///
/// An `f32` does not change, infinity included.
///
/// ```
/// use binade_core::{DType, cast::{self, OnOverflow::{NonFinite, Saturate}}};
///
/// assert_eq!(cast::round(65520.0, DType::F16, NonFinite), Some(f32::INFINITY));
/// assert_eq!(cast::round(65520.0, DType::F16, Saturate), Some(65504.0));
/// assert_eq!(cast::round(464.0, DType::E4M3, NonFinite), Some(448.0));
/// assert_eq!(cast::round(1.0, DType::I64, NonFinite), None);
/// ```
pub fn round(value: f32, to: DType, on_overflow: OnOverflow) -> Option<f32> {
    let limited = |rounded: f32, max: f32| match on_overflow {
        OnOverflow::Saturate if rounded.is_infinite() => max.copysign(rounded),
        _ => rounded,
    };
    match to {
        DType::BF16 => Some(limited(bf16::from_f32(value).to_f32(), bf16::MAX.to_f32())),
        DType::F16 => Some(limited(f16::from_f32(value).to_f32(), f16::MAX.to_f32())),
        DType::F32 => Some(value),
        DType::E4M3 => Some(E4M3::from_f32(value, on_overflow).to_f32()),
        DType::E5M2 => Some(E5M2::from_f32(value, on_overflow).to_f32()),
        DType::F64 | DType::I64 | DType::I32 | DType::U8 | DType::Bool => None,
    }
}
