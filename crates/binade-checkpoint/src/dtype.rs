//! Conversion between element types and safetensors' names.

use binade_core::{DType, RawTensor, TensorSpec};
use safetensors::{Dtype, tensor::TensorView};

const TYPES: [(DType, Dtype); 10] = [
    (DType::BF16, Dtype::BF16),
    (DType::F16, Dtype::F16),
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
    (DType::E4M3, Dtype::F8_E4M3),
    (DType::E5M2, Dtype::F8_E5M2),
    (DType::I64, Dtype::I64),
    (DType::I32, Dtype::I32),
    (DType::U8, Dtype::U8),
    (DType::Bool, Dtype::BOOL),
];

/// Returns safetensors' name of an element type.
pub(crate) fn written(dtype: DType) -> Option<Dtype> {
    TYPES.iter().find(|row| row.0 == dtype).map(|row| row.1)
}

/// Returns the element type of safetensors' name; `None` if Binade does not have it.
pub(crate) fn read(dtype: Dtype) -> Option<DType> {
    TYPES.iter().find(|row| row.1 == dtype).map(|row| row.0)
}

/// Returns the tensor of a file; `None` if it is of a type that Binade does not have.
pub(crate) fn raw(view: &TensorView<'_>) -> Option<RawTensor> {
    RawTensor::new(TensorSpec::new(read(view.dtype())?, view.shape()), view.data().to_vec())
}
