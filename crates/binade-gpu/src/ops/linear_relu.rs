//! Linear layer with the rectified linear unit behind it.

use super::{
    PointwiseKernels, RowKernels,
    gemm::{GemmKernels, affine},
    linear::{linear, linear_backward, linear_backward_of_weight},
    relu::{relu, relu_backward},
};
use crate::{Result, Tensor};
use binade_ops::{AffineGrads, OpInvocation, WeightGrads};

pub fn linear_relu<D: GemmKernels + PointwiseKernels + RowKernels>(
    device: &D,
    input: &Tensor<D>,
    weight: &Tensor<D>,
    bias: Option<&Tensor<D>>,
) -> Result<Tensor<D>, D> {
    if device.fuses_relu()? {
        return affine(device, &OpInvocation::LinearRelu, [input, weight], bias);
    }
    relu(device, &linear(device, input, weight, bias)?)
}

pub fn linear_relu_backward<D: GemmKernels + PointwiseKernels + RowKernels>(
    device: &D,
    grad: &Tensor<D>,
    output: &Tensor<D>,
    input: &Tensor<D>,
    weight: &Tensor<D>,
    bias: bool,
) -> Result<AffineGrads<Tensor<D>>, D> {
    linear_backward(device, &relu_backward(device, grad, output)?, input, weight, bias)
}

pub fn linear_relu_backward_of_weight<D: GemmKernels + PointwiseKernels + RowKernels>(
    device: &D,
    grad: &Tensor<D>,
    output: &Tensor<D>,
    input: &Tensor<D>,
    weight: &Tensor<D>,
    bias: bool,
) -> Result<WeightGrads<Tensor<D>>, D> {
    linear_backward_of_weight(device, &relu_backward(device, grad, output)?, input, weight, bias)
}
