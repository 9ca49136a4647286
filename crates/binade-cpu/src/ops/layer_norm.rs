//! Normalisation over the last axis.

use super::{operands::check, row_norm::RowNorm};
use crate::{Cpu, Error, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::{LayerNorm, NormGrads, OpInvocation};

impl LayerNorm for Cpu {
    fn layer_norm(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        eps: f32,
    ) -> Result<Tensor, Error> {
        let call = OpInvocation::LayerNorm { eps };
        let TensorSpec { dtype, shape } = check(&call, &[input, weight, bias])?;
        let (x, w, b) = (input.to_f32(), weight.to_f32(), bias.to_f32());
        Tensor::from_f32(norm(eps).forward(&x, &w, Some(&b)), &shape, dtype)
    }

    fn layer_norm_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<NormGrads<Tensor>, Error> {
        let call = OpInvocation::LayerNormBackward { eps };
        let TensorSpec { dtype, shape } = check(&call, &[grad, input, weight])?;
        let (g, x, w) = (grad.to_f32(), input.to_f32(), weight.to_f32());
        let [dw, db] = norm(eps).parameter_grads(&g, &x, w.len());
        Ok(NormGrads {
            input: Tensor::from_f32(norm(eps).input_grad(&g, &x, &w), &shape, dtype)?,
            weight: Tensor::from_f32(dw, weight.shape(), weight.dtype())?,
            bias: Tensor::from_f32(db, weight.shape(), weight.dtype())?,
        })
    }
}

fn norm(eps: f32) -> RowNorm {
    RowNorm { is_centred: true, eps }
}
