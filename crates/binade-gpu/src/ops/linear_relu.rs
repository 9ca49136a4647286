//! Linear layer followed by a rectified linear unit.

use super::{
    PointwiseKernels, RowKernels,
    gemm::{GemmKernels, affine},
};
use crate::{Gpu, Result, Tensor};
use binade_core::ops::{AffineGrads, Linear, OpInvocation, Relu, WeightGrads};

impl<D: GemmKernels + PointwiseKernels + RowKernels> binade_core::ops::LinearRelu for Gpu<'_, D> {
    fn linear_relu(
        &self,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: Option<&Tensor<D>>,
    ) -> Result<Tensor<D>, D> {
        if self.0.fuses_relu()? {
            return affine(self.0, &OpInvocation::LinearRelu, [input, weight], bias);
        }
        self.relu(&self.linear(input, weight, bias)?)
    }

    fn linear_relu_backward(
        &self,
        grad: &Tensor<D>,
        output: &Tensor<D>,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: bool,
    ) -> Result<AffineGrads<Tensor<D>>, D> {
        self.linear_backward(&self.relu_backward(grad, output)?, input, weight, bias)
    }

    fn linear_relu_backward_of_weight(
        &self,
        grad: &Tensor<D>,
        output: &Tensor<D>,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: bool,
    ) -> Result<WeightGrads<Tensor<D>>, D> {
        self.linear_backward_of_weight(&self.relu_backward(grad, output)?, input, weight, bias)
    }
}
