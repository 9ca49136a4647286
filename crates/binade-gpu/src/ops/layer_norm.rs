//! Normalisation over the last axis.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::{NormGrads, OpInvocation};

/// Operands of the backward pass of a normalisation, and the gradients to compute.
#[derive(Debug)]
pub struct NormBackward<'a, D: Driver> {
    /// Gradient of the result.
    pub grad: &'a Tensor<D>,
    /// Input of the forward pass.
    pub input: &'a Tensor<D>,
    /// Weight of the forward pass.
    pub weight: &'a Tensor<D>,
    /// Number added to the variance.
    pub eps: f32,
    /// Gradients to compute.
    pub grads: &'a NormGrads<Tensor<D>>,
}

/// Driver with kernels of normalisation over the last axis.
pub trait LayerNormKernels: Driver {
    /// Normalises the rows of `input` by weight and bias. There is at least one element.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_layer_norm(
        &self,
        operands: [&Tensor<Self>; 3],
        eps: f32,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Computes the gradients of input, weight and bias. Without rows those of weight and bias are 0.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_layer_norm_backward(&self, call: &NormBackward<'_, Self>) -> Result<(), Self>;
}

impl<D: LayerNormKernels> binade_core::ops::LayerNorm for Gpu<'_, D> {
    fn layer_norm(
        &self,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: &Tensor<D>,
        eps: f32,
    ) -> Result<Tensor<D>, D> {
        let call = OpInvocation::LayerNorm { eps };
        let TensorSpec { dtype, shape } = check(self.0, &call, &[input, weight, bias])?;
        let result = self.0.unset(dtype, &shape)?;
        if !result.is_empty() {
            self.0.launch_layer_norm([input, weight, bias], eps, &result)?;
        }
        Ok(result)
    }

    fn layer_norm_backward(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        eps: f32,
    ) -> Result<NormGrads<Tensor<D>>, D> {
        check(self.0, &OpInvocation::LayerNormBackward { eps }, &[grad, input, weight])?;
        let grads = norm_grads(self.0, input, weight)?;
        self.0.launch_layer_norm_backward(&NormBackward {
            grad,
            input,
            weight,
            eps,
            grads: &grads,
        })?;
        Ok(grads)
    }
}

/// Allocates uninitialised gradients of a normalisation.
pub(super) fn norm_grads<D: Driver>(
    device: &D,
    input: &Tensor<D>,
    weight: &Tensor<D>,
) -> Result<NormGrads<Tensor<D>>, D> {
    let like = |of: &Tensor<D>| device.unset(of.dtype(), of.shape());
    Ok(NormGrads { input: like(input)?, weight: like(weight)?, bias: like(weight)? })
}
