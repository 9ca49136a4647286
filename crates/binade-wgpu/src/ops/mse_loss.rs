//! Mean squared error.

use super::total::{PARAMS, divisor};
use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{MseLoss, operands, shape};

pub(super) const SHADERS: &[&Shader] = &[&MSE_LOSS, &MSE_LOSS_BACKWARD];

const MSE_LOSS: Shader = Shader {
    name: "mse_loss",
    file: "mse_loss",
    params: PARAMS,
    bindings: &[(1, Read), (2, Read), (3, Write)],
};
const MSE_LOSS_BACKWARD: Shader = Shader {
    name: "mse_loss_backward",
    bindings: &[(1, Read), (2, Read), (3, Write), (4, Read)],
    ..MSE_LOSS
};

impl MseLoss for Wgpu {
    fn mse_loss(&self, input: &Tensor, target: &Tensor) -> Result<Tensor, Error> {
        shape::mse_loss(input.shape(), target.shape())?;
        operands::float(Op::MSE_LOSS, &[input, target])?;
        self.total(&MSE_LOSS, &[input, target], divisor(input.len()), f32::NAN)
    }

    fn mse_loss_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        target: &Tensor,
    ) -> Result<[Tensor; 2], Error> {
        shape::mse_loss(input.shape(), target.shape())?;
        operands::scalar_grad(Op::MSE_LOSS, grad)?;
        operands::float(Op::MSE_LOSS, &[input, target])?;
        self.has_made_all(&[grad, input, target])?;
        Ok([self.towards(grad, input, target)?, self.towards(grad, target, input)?])
    }
}

impl Wgpu {
    /// Computes `2·(x − y)·grad / count`.
    fn towards(&self, grad: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor, Error> {
        let result = self.unset(x.dtype(), x.shape())?;
        let (dtype, divisor) = (code("mse_loss", x.dtype())?, divisor(x.len()));
        for part in parts(x.len(), x.dtype().bytes(), self.facts().most_binding_bytes) {
            let [(a, a_start), (b, b_start), (output, _)] =
                [x, y, &result].map(|tensor| Bound::elements(tensor, part.clone()));
            let (from, at) = self.whole(grad)?;
            let (len, starts) = (count(part.len()), [a_start, b_start]);
            let params = structs::Total { len, dtype, starts, at, divisor };
            let groups = groups(part.len().div_ceil(GROUP));
            self.dispatch(&MSE_LOSS_BACKWARD, &params, vec![a, b, output, from], groups)?;
        }
        Ok(result)
    }
}
