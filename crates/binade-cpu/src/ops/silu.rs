//! Sigmoid linear unit.

use super::pointwise;
use crate::{Cpu, Error, Tensor, elementary::exp, reduce::round};
use binade_core::ops::{OpInvocation, Silu};

impl Silu for Cpu {
    fn silu(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::map(&OpInvocation::Silu, input, silu)
    }

    fn silu_backward(&self, grad: &Tensor, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::SiluBackward, grad, input, times_derivative)
    }
}

/// Computes `x·σ(x)` in f64, where the exponential overflows only if the result is 0 in f32.
#[inline(always)]
fn silu(x: f32) -> f32 {
    let x = f64::from(x);
    round(x / (1.0 + exp(-x)))
}

/// Computes `g·σ(x)·(1 + x·(1 − σ(x)))`.
#[inline(always)]
fn times_derivative(g: f32, x: f32) -> f32 {
    let x = f64::from(x);
    let sigmoid = 1.0 / (1.0 + exp(-x));
    g * round(sigmoid * (1.0 + x * (1.0 - sigmoid)))
}
