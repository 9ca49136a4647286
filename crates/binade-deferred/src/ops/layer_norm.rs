//! Normalisation over the last axis.

use super::operands;
use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{LayerNorm, NormGrads, shape};

impl LayerNorm for Deferred {
    fn layer_norm(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        eps: f32,
    ) -> Result<Tensor, Error> {
        shape::layer_norm(input.shape(), weight.shape(), bias.shape())?;
        operands::norm(Op::LAYER_NORM, input, &[weight, bias])?;
        let work = move |t: &[&_]| Cpu.layer_norm(t[0], t[1], t[2], eps);
        Ok(self.tensor(&[input, weight, bias], input.like(), work))
    }

    fn layer_norm_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<NormGrads<Tensor>, Error> {
        shape::layer_norm(input.shape(), weight.shape(), weight.shape())?;
        operands::norm(Op::LAYER_NORM, input, &[weight])?;
        operands::grad(Op::LAYER_NORM, grad, &input.like())?;
        let likes = norm_likes(input, weight);
        let [input, weight, bias] = self.tensors(&[grad, input, weight], likes, move |t| {
            let grads = Cpu.layer_norm_backward(t[0], t[1], t[2], eps)?;
            Ok([grads.input, grads.weight, grads.bias])
        });
        Ok(NormGrads { input, weight, bias })
    }
}

/// Returns the forms of the gradients of input, weight and bias.
pub(super) fn norm_likes(input: &Tensor, weight: &Tensor) -> [Like; 3] {
    [input.like(), weight.like(), weight.like()]
}
