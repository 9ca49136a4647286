//! Gaussian error linear unit.

use super::pointwise;
use crate::{Cpu, Error, Tensor, elementary::normal, reduce::round};
use binade_core::ops::{Gelu, OpInvocation};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

impl Gelu for Cpu {
    fn gelu(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::map(&OpInvocation::Gelu, input, gelu)
    }

    fn gelu_backward(&self, grad: &Tensor, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::GeluBackward, grad, input, times_derivative)
    }
}

/// Computes `x·Φ(x)` in f64, so that only the rounding to f32 is visible.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let x = f64::from(x);
    let [distribution, _] = normal(x);
    // −∞·Φ(−∞) is −∞·0: the limit is 0.
    round(if x == f64::NEG_INFINITY { -0.0 } else { x * distribution })
}

/// Computes `g·(Φ(x) + x·φ(x))`.
#[inline(always)]
fn times_derivative(g: f32, x: f32) -> f32 {
    let x = f64::from(x);
    let [distribution, density] = normal(x);
    let density = density * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2);
    // ±∞·φ(±∞) is ±∞·0: the limit is 0.
    g * round(distribution + if x.is_infinite() { 0.0 } else { x * density })
}
