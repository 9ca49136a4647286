//! Linear layer.

use super::gemm::{GemmKernels, affine, affine_input_grad, affine_weight_grads};
use crate::{Result, Tensor};
use binade_ops::{AffineGrads, OpInvocation, WeightGrads};

pub fn linear<D: GemmKernels>(
    device: &D,
    input: &Tensor<D>,
    weight: &Tensor<D>,
    bias: Option<&Tensor<D>>,
) -> Result<Tensor<D>, D> {
    affine(device, &OpInvocation::Linear, [input, weight], bias)
}

pub fn linear_backward<D: GemmKernels>(
    device: &D,
    grad: &Tensor<D>,
    input: &Tensor<D>,
    weight: &Tensor<D>,
    bias: bool,
) -> Result<AffineGrads<Tensor<D>>, D> {
    let WeightGrads { weight: of_weight, bias } =
        affine_weight_grads(device, [grad, input, weight], bias)?;
    let of_input = affine_input_grad(device, grad, input, weight)?;
    Ok(AffineGrads { input: of_input, weight: of_weight, bias })
}

pub fn linear_backward_of_weight<D: GemmKernels>(
    device: &D,
    grad: &Tensor<D>,
    input: &Tensor<D>,
    weight: &Tensor<D>,
    bias: bool,
) -> Result<WeightGrads<Tensor<D>>, D> {
    affine_weight_grads(device, [grad, input, weight], bias)
}
