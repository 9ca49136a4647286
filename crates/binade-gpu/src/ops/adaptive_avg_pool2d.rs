//! Mean of each of a given number of windows: kernels of average pooling.

use super::{
    avg_pool2d::{AvgPool2dKernels, pooled},
    check,
};
use crate::{Gpu, Result, Tensor};
use binade_core::ops::{OpInvocation, shape::Pooling};

impl<D: AvgPool2dKernels> binade_core::ops::AdaptiveAvgPool2d for Gpu<'_, D> {
    fn adaptive_avg_pool2d(&self, input: &Tensor<D>, output: [usize; 2]) -> Result<Tensor<D>, D> {
        let spec = check(self.0, &OpInvocation::AdaptiveAvgPool2d { output }, &[input])?;
        let of = Pooling::adaptive(input.shape(), &spec.shape);
        pooled(self.0, "avg_pool2d", input, &spec, &of)
    }

    fn adaptive_avg_pool2d_backward(
        &self,
        grad: &Tensor<D>,
        shape: &[usize],
    ) -> Result<Tensor<D>, D> {
        let call = OpInvocation::AdaptiveAvgPool2dBackward { shape: shape.to_vec() };
        let spec = check(self.0, &call, &[grad])?;
        pooled(self.0, "avg_pool2d_backward", grad, &spec, &Pooling::adaptive(shape, grad.shape()))
    }
}
