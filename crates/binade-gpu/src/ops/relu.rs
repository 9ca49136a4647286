//! Rectified linear unit.

use super::pointwise::{PointwiseKernels, pointwise};
use crate::{Result, Tensor};
use binade_core::Op;

pub fn relu<D: PointwiseKernels>(device: &D, input: &Tensor<D>) -> Result<Tensor<D>, D> {
    pointwise(device, Op::RELU, "relu", &[input])
}

pub fn relu_backward<D: PointwiseKernels>(
    device: &D,
    grad: &Tensor<D>,
    output: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    pointwise(device, Op::RELU, "relu_backward", &[grad, output])
}
