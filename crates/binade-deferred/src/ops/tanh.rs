//! Hyperbolic tangent.

use super::pointwise;
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::Tanh;

impl Tanh for Deferred {
    fn tanh(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::unary(self, Op::TANH, input, Cpu::tanh)
    }

    fn tanh_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        pointwise::binary(self, Op::TANH, grad, output, Cpu::tanh_backward)
    }
}
