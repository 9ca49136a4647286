//! Largest element of each window.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::{MaxPool2dConfig, OpInvocation};

/// Driver with kernels of max pooling.
pub trait MaxPool2dKernels: Driver {
    /// Computes the last tensor, the largest element of each window of the first.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_max_pool2d(
        &self,
        tensors: [&Tensor<Self>; 2],
        config: MaxPool2dConfig,
    ) -> Result<(), Self>;

    /// Computes the last tensor, the gradient of the input, from that of the result and the input.
    ///
    /// # Errors
    ///
    /// Returns an error for planes with more elements than kernels count, and if the device fails.
    fn launch_max_pool2d_backward(
        &self,
        tensors: [&Tensor<Self>; 3],
        config: MaxPool2dConfig,
    ) -> Result<(), Self>;
}

impl<D: MaxPool2dKernels> binade_core::ops::MaxPool2d for Gpu<'_, D> {
    fn max_pool2d(&self, input: &Tensor<D>, config: MaxPool2dConfig) -> Result<Tensor<D>, D> {
        let call = OpInvocation::MaxPool2d { config };
        let TensorSpec { dtype, shape } = check(self.0, &call, &[input])?;
        let result = self.0.unset(dtype, &shape)?;
        self.0.launch_max_pool2d([input, &result], config)?;
        Ok(result)
    }

    fn max_pool2d_backward(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        config: MaxPool2dConfig,
    ) -> Result<Tensor<D>, D> {
        let call = OpInvocation::MaxPool2dBackward { config };
        let TensorSpec { dtype, shape } = check(self.0, &call, &[grad, input])?;
        let result = self.0.unset(dtype, &shape)?;
        self.0.launch_max_pool2d_backward([grad, input, &result], config)?;
        Ok(result)
    }
}
