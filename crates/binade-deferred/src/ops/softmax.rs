//! Softmax.

use super::pointwise;
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{Softmax, shape};

impl Softmax for Deferred {
    fn softmax(&self, input: &Tensor) -> Result<Tensor, Error> {
        shape::softmax(Op::SOFTMAX, input.shape())?;
        pointwise::unary(self, Op::SOFTMAX, input, Cpu::softmax)
    }

    fn softmax_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        shape::same(Op::SOFTMAX, grad.shape(), output.shape())?;
        shape::softmax(Op::SOFTMAX, output.shape())?;
        pointwise::binary(self, Op::SOFTMAX, grad, output, Cpu::softmax_backward)
    }
}
