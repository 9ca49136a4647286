//! Matrix product.

use super::operands;
use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{MatMul, shape};

impl MatMul for Deferred {
    fn matmul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        Ok(self.tensor(&[a, b], product(a, b)?, |t| Cpu.matmul(t[0], t[1])))
    }

    fn matmul_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        operands::grad(Op::MATMUL, grad, &product(a, b)?)?;
        let likes = [a.like(), b.like()];
        Ok(self.tensors(&[grad, a, b], likes, |t| Cpu.matmul_backward(t[0], t[1], t[2])))
    }
}

fn product(a: &Tensor, b: &Tensor) -> Result<Like, Error> {
    let shape = shape::matmul(a.shape(), b.shape())?;
    Ok(Like { shape, dtype: operands::float(Op::MATMUL, &[a, b])? })
}
