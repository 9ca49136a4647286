//! Cross-entropy of class labels.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::DType;
use binade_core::ops::OpInvocation;

/// Driver with kernels of cross-entropy. The device records a label that is out of range.
pub trait CrossEntropyKernels: Driver {
    /// Computes the mean loss over the rows of logits, an f32 scalar; NaN without rows.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_cross_entropy(
        &self,
        logits: &Tensor<Self>,
        labels: &Tensor<Self>,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Computes the last tensor, the gradient of the logits, from the mean's gradient, the logits and the labels.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_cross_entropy_backward(&self, tensors: [&Tensor<Self>; 4]) -> Result<(), Self>;
}

impl<D: CrossEntropyKernels> binade_core::ops::CrossEntropy for Gpu<'_, D> {
    fn cross_entropy(&self, logits: &Tensor<D>, labels: &Tensor<D>) -> Result<Tensor<D>, D> {
        check(self.0, &OpInvocation::CrossEntropy, &[logits, labels])?;
        let result = self.0.unset(DType::F32, &[])?;
        self.0.launch_cross_entropy(logits, labels, &result)?;
        Ok(result)
    }

    fn cross_entropy_backward(
        &self,
        grad: &Tensor<D>,
        logits: &Tensor<D>,
        labels: &Tensor<D>,
    ) -> Result<Tensor<D>, D> {
        let call = OpInvocation::CrossEntropyBackward;
        let dtype = check(self.0, &call, &[grad, logits, labels])?.dtype;
        let result = self.0.unset(dtype, logits.shape())?;
        self.0.launch_cross_entropy_backward([grad, logits, labels, &result])?;
        Ok(result)
    }
}
