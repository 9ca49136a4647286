//! Rectified linear unit.

use super::pointwise;
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::Relu;

impl Relu for Deferred {
    fn relu(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::unary(self, Op::RELU, input, Cpu::relu)
    }

    fn relu_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        pointwise::binary(self, Op::RELU, grad, output, Cpu::relu_backward)
    }
}
