//! Elementwise sum.

use super::pointwise;
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::Add;

impl Add for Deferred {
    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        pointwise::binary(self, Op::ADD, a, b, <Cpu as Add>::add)
    }

    /// Returns the same value twice; nothing is computed.
    fn add_backward(&self, grad: &Tensor) -> Result<[Tensor; 2], Error> {
        Ok([grad.clone(), grad.clone()])
    }
}
