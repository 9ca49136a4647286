//! Gaussian error linear unit.

use super::pointwise::{PointwiseKernels, pointwise};
use crate::{Result, Tensor};
use binade_core::Op;

pub fn gelu<D: PointwiseKernels>(device: &D, input: &Tensor<D>) -> Result<Tensor<D>, D> {
    pointwise(device, Op::GELU, "gelu", &[input])
}

pub fn gelu_backward<D: PointwiseKernels>(
    device: &D,
    grad: &Tensor<D>,
    input: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    pointwise(device, Op::GELU, "gelu_backward", &[grad, input])
}
