//! Elementwise product.

use super::pointwise;
use crate::{Cpu, Error, Tensor};
use binade_core::ops::{Mul, OpInvocation};

impl Mul for Cpu {
    fn mul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::Mul, a, b, std::ops::Mul::mul)
    }

    fn mul_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        Ok([self.mul(grad, b)?, self.mul(grad, a)?])
    }
}
