//! Approximation of the Gaussian error linear unit.

use super::pointwise;
use crate::{Cpu, Error, Tensor, elementary::exp, reduce::round};
use binade_core::ops::{GeluTanh, OpInvocation};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// 2·√(2/π).
const SLOPE: f64 = 2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2;

/// Coefficient of the cube.
const CUBE: f64 = 0.044_715;

impl GeluTanh for Cpu {
    fn gelu_tanh(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::map(&OpInvocation::GeluTanh, input, gelu_tanh)
    }

    fn gelu_tanh_backward(&self, grad: &Tensor, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::GeluTanhBackward, grad, input, times_derivative)
    }
}

/// Computes `σ(2u)`, since `(1 + tanh u) / 2` is that.
#[inline(always)]
fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-SLOPE * x * (1.0 + CUBE * x * x)))
}

/// Computes `x·σ(2u)` in f64, so that only the rounding to f32 is visible.
#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    let x = f64::from(x);
    // −∞·σ(−∞) is −∞·0: the limit is 0.
    round(if x == f64::NEG_INFINITY { -0.0 } else { x * sigmoid(x) })
}

/// Computes `g·σ(2u)·(1 + x·2u′·(1 − σ(2u)))`.
#[inline(always)]
fn times_derivative(g: f32, x: f32) -> f32 {
    let x = f64::from(x);
    let sigmoid = sigmoid(x);
    let slope = x * SLOPE * (1.0 + 3.0 * CUBE * x * x);
    // ±∞·σ(±∞)·σ(∓∞) is ±∞·0: the limit is 0.
    let rest = if x.is_infinite() { 0.0 } else { slope * (1.0 - sigmoid) };
    g * round(sigmoid * (1.0 + rest))
}
