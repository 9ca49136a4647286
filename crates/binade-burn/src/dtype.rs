//! burn's names of element types, and the check that a device computes in one.

use crate::TensorError;
use binade_core::DType;
use burn::tensor::{DType as BurnDType, Device, FloatDType};

/// Returns burn's name of a floating-point type; `None` if burn has no tensors of it.
const fn float_dtype(dtype: DType) -> Option<FloatDType> {
    Some(match dtype {
        DType::BF16 => FloatDType::BF16,
        DType::F16 => FloatDType::F16,
        DType::F32 => FloatDType::F32,
        DType::F64 => FloatDType::F64,
        _ => return None,
    })
}

/// Returns burn's name of `dtype`, if `device` computes in it. burn itself would panic at another type.
///
/// # Errors
///
/// [`TensorError::Unsupported`].
pub fn require_dtype(device: &Device, dtype: DType) -> Result<FloatDType, TensorError> {
    let supported = float_dtype(dtype).filter(|float| device.supports_dtype(*float));
    supported.ok_or_else(|| TensorError::Unsupported { dtype, device: format!("{device:?}") })
}

/// Returns Binade's name of burn's floating-point type; `None` for integers and quantised types. `Flex32` is stored as `f32`, and is named so.
pub(crate) const fn known(dtype: BurnDType) -> Option<DType> {
    Some(match dtype {
        BurnDType::BF16 => DType::BF16,
        BurnDType::F16 => DType::F16,
        BurnDType::F32 | BurnDType::Flex32 => DType::F32,
        BurnDType::F64 => DType::F64,
        _ => return None,
    })
}
