//! Element types of candle and of Binade, each by the other's names.

use crate::Error;
use binade_core::DType;
use candle_core as candle;

/// Returns Binade's name of candle's `dtype`.
///
/// Types that Binade has no name for are never cast, and go by the nearest name that is never cast either: `U32` by `i64`, `I16`
/// by `i32`, and formats of fewer than eight bits, which candle only carries, by `u8`.
pub(crate) const fn dtype(dtype: candle::DType) -> DType {
    match dtype {
        candle::DType::BF16 => DType::BF16,
        candle::DType::F16 => DType::F16,
        candle::DType::F32 => DType::F32,
        candle::DType::F64 => DType::F64,
        candle::DType::F8E4M3 => DType::E4M3,
        candle::DType::I64 | candle::DType::U32 => DType::I64,
        candle::DType::I32 | candle::DType::I16 => DType::I32,
        _ => DType::U8,
    }
}

/// Returns candle's name of Binade's `dtype`, for the types that tensors are cast to here.
///
/// # Errors
///
/// [`Error::NoSuchType`] for the others: candle's own cast to `F8E4M3` saturates, and Binade's names leave that to be chosen.
pub const fn candle_dtype(dtype: DType) -> Result<candle::DType, Error> {
    match dtype {
        DType::BF16 => Ok(candle::DType::BF16),
        DType::F16 => Ok(candle::DType::F16),
        DType::F32 => Ok(candle::DType::F32),
        DType::F64 => Ok(candle::DType::F64),
        _ => Err(Error::NoSuchType { dtype }),
    }
}
