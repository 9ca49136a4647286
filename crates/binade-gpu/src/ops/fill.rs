//! Tensors of one value.

use super::PointwiseKernels;
use crate::{Result, Tensor};
use binade_core::DType;

pub fn fill<D: PointwiseKernels>(
    device: &D,
    value: f32,
    shape: &[usize],
    dtype: DType,
) -> Result<Tensor<D>, D> {
    let result = device.unset(dtype, &binade_ops::shape::fill(shape)?)?;
    device.launch_fill(value, &result)?;
    Ok(result)
}
