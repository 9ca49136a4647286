//! Gaussian error linear unit.

use super::pointwise;
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::Gelu;

impl Gelu for Deferred {
    fn gelu(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::unary(self, Op::GELU, input, Cpu::gelu)
    }

    fn gelu_backward(&self, grad: &Tensor, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::binary(self, Op::GELU, grad, input, Cpu::gelu_backward)
    }
}
