//! Linear layer.

use super::{affine, operands};
use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{AffineGrads, Linear, shape};

impl Linear for Deferred {
    fn linear(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Tensor, Error> {
        let like = output(input, weight, bias)?;
        let operands = affine::operands(input, weight, bias);
        Ok(self.tensor(&operands, like, |t| Cpu.linear(t[0], t[1], t.get(2).copied())))
    }

    fn linear_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        bias: bool,
    ) -> Result<AffineGrads<Tensor>, Error> {
        operands::grad(Op::LINEAR, grad, &output(input, weight, None)?)?;
        let work = move |t: &[&_]| Cpu.linear_backward(t[0], t[1], t[2], bias);
        Ok(affine::grads(self, [grad, input, weight], bias, work))
    }
}

fn output(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Like, Error> {
    let shape = shape::linear(input.shape(), weight.shape(), bias.map(Tensor::shape))?;
    let dtype = operands::float(Op::LINEAR, &affine::operands(input, weight, bias))?;
    Ok(Like { shape, dtype })
}
