//! Rotary position embedding.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::OpInvocation;

/// Driver with a kernel of rotary position embedding.
pub trait RotaryEmbeddingKernels: Driver {
    /// Rotates the pairs of the first operand by the tables of cosines and sines; each sine is multiplied by `direction`. There is at least one pair.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_rotary_embedding(
        &self,
        operands: [&Tensor<Self>; 3],
        direction: f32,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;
}

impl<D: RotaryEmbeddingKernels> binade_core::ops::RotaryEmbedding for Gpu<'_, D> {
    fn rotary_embedding(
        &self,
        input: &Tensor<D>,
        cos: &Tensor<D>,
        sin: &Tensor<D>,
    ) -> Result<Tensor<D>, D> {
        rotated(self.0, &OpInvocation::RotaryEmbedding, [input, cos, sin], 1.0)
    }

    fn rotary_embedding_backward(
        &self,
        grad: &Tensor<D>,
        cos: &Tensor<D>,
        sin: &Tensor<D>,
    ) -> Result<Tensor<D>, D> {
        rotated(self.0, &OpInvocation::RotaryEmbeddingBackward, [grad, cos, sin], -1.0)
    }
}

fn rotated<D: RotaryEmbeddingKernels>(
    device: &D,
    call: &OpInvocation,
    operands: [&Tensor<D>; 3],
    direction: f32,
) -> Result<Tensor<D>, D> {
    let TensorSpec { dtype, shape } = check(device, call, &operands)?;
    let result = device.unset(dtype, &shape)?;
    if !result.is_empty() {
        device.launch_rotary_embedding(operands, direction, &result)?;
    }
    Ok(result)
}
