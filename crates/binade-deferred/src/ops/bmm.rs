//! Batch of matrix products.

use super::operands;
use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{Bmm, shape};

impl Bmm for Deferred {
    fn bmm(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        Ok(self.tensor(&[a, b], product(a, b)?, |t| Cpu.bmm(t[0], t[1])))
    }

    fn bmm_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        operands::grad(Op::BMM, grad, &product(a, b)?)?;
        let likes = [a.like(), b.like()];
        Ok(self.tensors(&[grad, a, b], likes, |t| Cpu.bmm_backward(t[0], t[1], t[2])))
    }
}

fn product(a: &Tensor, b: &Tensor) -> Result<Like, Error> {
    let shape = shape::bmm(a.shape(), b.shape())?;
    Ok(Like { shape, dtype: operands::float(Op::BMM, &[a, b])? })
}
