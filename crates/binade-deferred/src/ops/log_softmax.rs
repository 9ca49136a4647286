//! Logarithm of softmax.

use super::pointwise;
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{LogSoftmax, shape};

impl LogSoftmax for Deferred {
    fn log_softmax(&self, input: &Tensor) -> Result<Tensor, Error> {
        shape::softmax(Op::LOG_SOFTMAX, input.shape())?;
        pointwise::unary(self, Op::LOG_SOFTMAX, input, Cpu::log_softmax)
    }

    fn log_softmax_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        shape::same(Op::LOG_SOFTMAX, grad.shape(), output.shape())?;
        shape::softmax(Op::LOG_SOFTMAX, output.shape())?;
        pointwise::binary(self, Op::LOG_SOFTMAX, grad, output, Cpu::log_softmax_backward)
    }
}
