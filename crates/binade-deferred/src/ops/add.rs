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

    /// Nothing is computed: the same value twice.
    fn add_backward(&self, grad: &Tensor) -> Result<[Tensor; 2], Error> {
        Ok([grad.clone(), grad.clone()])
    }
}
