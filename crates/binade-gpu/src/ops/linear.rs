//! Linear layer.

use super::gemm::{GemmKernels, affine, affine_input_grad, affine_weight_grads};
use crate::{Gpu, Result, Tensor};
use binade_core::ops::{AffineGrads, OpInvocation, WeightGrads};

impl<D: GemmKernels> binade_core::ops::Linear for Gpu<'_, D> {
    fn linear(
        &self,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: Option<&Tensor<D>>,
    ) -> Result<Tensor<D>, D> {
        affine(self.0, &OpInvocation::Linear, [input, weight], bias)
    }

    fn linear_backward(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: bool,
    ) -> Result<AffineGrads<Tensor<D>>, D> {
        let WeightGrads { weight: of_weight, bias } =
            affine_weight_grads(self.0, [grad, input, weight], bias)?;
        let of_input = affine_input_grad(self.0, grad, input, weight)?;
        Ok(AffineGrads { input: of_input, weight: of_weight, bias })
    }

    fn linear_backward_of_weight(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: bool,
    ) -> Result<WeightGrads<Tensor<D>>, D> {
        affine_weight_grads(self.0, [grad, input, weight], bias)
    }
}
