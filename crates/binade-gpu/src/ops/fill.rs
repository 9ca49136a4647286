//! Tensors of one value.

use super::{PointwiseKernels, check};
use crate::{Result, Tensor};
use binade_core::DType;
use binade_ops::OpInvocation;

pub fn fill<D: PointwiseKernels>(
    device: &D,
    value: f32,
    shape: &[usize],
    dtype: DType,
) -> Result<Tensor<D>, D> {
    let call = OpInvocation::Fill { value, shape: shape.to_vec(), dtype }; let result = device.unset(dtype, &check(device, &call, &[])?.shape)?;
    device.launch_fill(value, &result)?;
    Ok(result)
}
