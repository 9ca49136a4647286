//! Division by the root mean square over the last axis.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::OpInvocation;

/// Driver with kernels of root mean square normalisation.
pub trait RmsNormKernels: Driver {
    /// Normalises the rows of `input`, and multiplies them by `weight`. There is at least one element.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_rms_norm(
        &self,
        operands: [&Tensor<Self>; 2],
        eps: f32,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Computes the gradients of input and weight from `operands`: the result's gradient, input and weight. Without rows the weight's gradient is 0.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_rms_norm_backward(
        &self,
        operands: [&Tensor<Self>; 3],
        eps: f32,
        grads: [&Tensor<Self>; 2],
    ) -> Result<(), Self>;
}

impl<D: RmsNormKernels> binade_core::ops::RmsNorm for Gpu<'_, D> {
    fn rms_norm(&self, input: &Tensor<D>, weight: &Tensor<D>, eps: f32) -> Result<Tensor<D>, D> {
        let call = OpInvocation::RmsNorm { eps };
        let TensorSpec { dtype, shape } = check(self.0, &call, &[input, weight])?;
        let result = self.0.unset(dtype, &shape)?;
        if !result.is_empty() {
            self.0.launch_rms_norm([input, weight], eps, &result)?;
        }
        Ok(result)
    }

    fn rms_norm_backward(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        eps: f32,
    ) -> Result<[Tensor<D>; 2], D> {
        let operands = [grad, input, weight];
        check(self.0, &OpInvocation::RmsNormBackward { eps }, &operands)?;
        let like = |of: &Tensor<D>| self.0.unset(of.dtype(), of.shape());
        let grads = [like(input)?, like(weight)?];
        self.0.launch_rms_norm_backward(operands, eps, [&grads[0], &grads[1]])?;
        Ok(grads)
    }
}
