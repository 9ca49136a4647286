//! Elementwise product.

use super::pointwise::{PointwiseKernels, pointwise};
use crate::{Result, Tensor};
use binade_core::Op;

pub fn mul<D: PointwiseKernels>(device: &D, a: &Tensor<D>, b: &Tensor<D>) -> Result<Tensor<D>, D> {
    pointwise(device, Op::MUL, "mul", &[a, b])
}

pub fn mul_backward<D: PointwiseKernels>(
    device: &D,
    grad: &Tensor<D>,
    a: &Tensor<D>,
    b: &Tensor<D>,
) -> Result<[Tensor<D>; 2], D> {
    Ok([mul(device, grad, b)?, mul(device, grad, a)?])
}
