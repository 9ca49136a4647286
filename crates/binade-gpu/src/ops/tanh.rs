//! Hyperbolic tangent.

use super::pointwise::{PointwiseKernels, pointwise};
use crate::{Result, Tensor};
use binade_core::Op;

pub fn tanh<D: PointwiseKernels>(device: &D, input: &Tensor<D>) -> Result<Tensor<D>, D> {
    pointwise(device, Op::TANH, "tanh_forward", &[input])
}

pub fn tanh_backward<D: PointwiseKernels>(
    device: &D,
    grad: &Tensor<D>,
    output: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    pointwise(device, Op::TANH, "tanh_backward", &[grad, output])
}
