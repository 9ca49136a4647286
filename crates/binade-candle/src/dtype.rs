//! Element types of candle and of Binade, each by the other's names.

use crate::Error;
use binade_core::DType;
use candle_core as candle;

/// Returns Binade's name of candle's `dtype`.
///
/// Types that Binade has no name for get the name of a near type that, like them, is never cast: `U32` gets `i64`, `I16` gets `i32`, and formats of
/// fewer than eight bits, which candle only stores, get `u8`.
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
/// [`Error::NoSuchType`] for other types. `F8E4M3` is among these: candle's cast to it saturates, while Binade leaves that to the caller.
pub const fn candle_dtype(dtype: DType) -> Result<candle::DType, Error> {
    match dtype {
        DType::BF16 => Ok(candle::DType::BF16),
        DType::F16 => Ok(candle::DType::F16),
        DType::F32 => Ok(candle::DType::F32),
        DType::F64 => Ok(candle::DType::F64),
        _ => Err(Error::NoSuchType { dtype }),
    }
}
