//! Dropout: zeroes elements at random and scales the rest.

use super::{PointwiseKernels, check};
use crate::{Gpu, Result, Tensor};
use binade_core::ops::OpInvocation;
use binade_core::{TensorSpec, stochastic::threshold};

impl<D: PointwiseKernels> binade_core::ops::Dropout for Gpu<'_, D> {
    /// Dropout by a key that the kernel reads on the device.
    fn dropout(&self, input: &Tensor<D>, key: &Tensor<D>, p: f32) -> Result<Tensor<D>, D> {
        let call = OpInvocation::Dropout { p };
        let TensorSpec { dtype, shape } = check(self.0, &call, &[input, key])?;
        let result = self.0.unset(dtype, &shape)?;
        self.0.launch_dropout([input, key, &result], threshold(p), 1.0 / (1.0 - p))?;
        Ok(result)
    }

    fn dropout_backward(&self, grad: &Tensor<D>, key: &Tensor<D>, p: f32) -> Result<Tensor<D>, D> {
        self.dropout(grad, key, p)
    }
}
