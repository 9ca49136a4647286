//! Hyperbolic tangent.

use super::pointwise;
use crate::{Cpu, Error, Tensor, elementary, reduce::round};
use binade_core::ops::{OpInvocation, Tanh};

impl Tanh for Cpu {
    fn tanh(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::map(&OpInvocation::Tanh, input, tanh)
    }

    fn tanh_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::TanhBackward, grad, output, times_derivative)
    }
}

/// Computes `tanh(x)` in f64, rounded once.
#[inline(always)]
fn tanh(x: f32) -> f32 {
    round(elementary::tanh(f64::from(x)))
}

/// Computes `g·(1 − y²)`.
#[inline(always)]
fn times_derivative(g: f32, y: f32) -> f32 {
    g * (1.0 - y * y)
}
