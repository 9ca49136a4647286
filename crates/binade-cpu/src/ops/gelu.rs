//! Gaussian error linear unit.

use super::pointwise;
use crate::{Cpu, Error, Tensor, reduce::round};
use binade_core::ops::{Gelu, OpInvocation};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

impl Gelu for Cpu {
    fn gelu(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::map(&OpInvocation::Gelu, input, gelu)
    }

    fn gelu_backward(&self, grad: &Tensor, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::GeluBackward, grad, input, |g, x| g * derivative(x))
    }
}

/// Computes `x·Φ(x)` in f64, so that the rounding to f32 is the only one that shows.
fn gelu(x: f32) -> f32 {
    let x = f64::from(x);
    // −∞·Φ(−∞) is −∞·0: the limit is 0.
    if x == f64::NEG_INFINITY { -0.0 } else { round(x * distribution(x)) }
}

/// Computes `Φ(x) + x·φ(x)`.
fn derivative(x: f32) -> f32 {
    let x = f64::from(x);
    if x.is_infinite() {
        return round(distribution(x));
    }
    let density = (-0.5 * x * x).exp() * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2);
    round(distribution(x) + x * density)
}

/// Computes the normal distribution function; `erfc` keeps the relative accuracy of its lower tail, which `1 + erf` cancels.
fn distribution(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}
