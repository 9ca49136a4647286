//! Exponential.

use super::pointwise;
use crate::{Cpu, Error, Tensor, elementary, reduce::round};
use binade_core::ops::{Exp, OpInvocation};

impl Exp for Cpu {
    fn exp(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::map(&OpInvocation::Exp, input, exp)
    }

    fn exp_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::ExpBackward, grad, output, std::ops::Mul::mul)
    }
}

/// Computes `e^x` in f64, so that only the rounding to f32 is visible.
#[inline(always)]
fn exp(x: f32) -> f32 {
    round(elementary::exp(f64::from(x)))
}
