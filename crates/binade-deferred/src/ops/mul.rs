//! Elementwise product.

use super::{operands, pointwise};
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{Mul, shape};

impl Mul for Deferred {
    fn mul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        pointwise::binary(self, Op::MUL, a, b, Cpu::mul)
    }

    fn mul_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        for operand in [b, a] {
            shape::same(Op::MUL, grad.shape(), operand.shape())?;
            operands::float(Op::MUL, &[grad, operand])?;
        }
        let likes = [a.like(), b.like()];
        Ok(self.tensors(&[grad, a, b], likes, |t| Cpu.mul_backward(t[0], t[1], t[2])))
    }
}
