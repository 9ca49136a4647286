//! Division by the root mean square over the last axis.

use super::{operands::check, row_norm::RowNorm};
use crate::{Cpu, Error, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::{OpInvocation, RmsNorm};

impl RmsNorm for Cpu {
    fn rms_norm(&self, input: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor, Error> {
        let call = OpInvocation::RmsNorm { eps };
        let TensorSpec { dtype, shape } = check(&call, &[input, weight])?;
        Tensor::from_f32(norm(eps).forward(&input.to_f32(), &weight.to_f32(), None), &shape, dtype)
    }

    fn rms_norm_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<[Tensor; 2], Error> {
        let call = OpInvocation::RmsNormBackward { eps };
        let TensorSpec { dtype, shape } = check(&call, &[grad, input, weight])?;
        let (g, x, w) = (grad.to_f32(), input.to_f32(), weight.to_f32());
        let [dw, _] = norm(eps).parameter_grads(&g, &x, w.len());
        Ok([
            Tensor::from_f32(norm(eps).input_grad(&g, &x, &w), &shape, dtype)?,
            Tensor::from_f32(dw, weight.shape(), weight.dtype())?,
        ])
    }
}

fn norm(eps: f32) -> RowNorm {
    RowNorm { is_centred: false, eps }
}
