//! Square root.

use super::pointwise;
use crate::{Cpu, Error, Tensor};
use binade_core::ops::{OpInvocation, Sqrt};

impl Sqrt for Cpu {
    fn sqrt(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::map(&OpInvocation::Sqrt, input, f32::sqrt)
    }

    fn sqrt_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::SqrtBackward, grad, output, times_derivative)
    }
}

/// Computes `g / 2y`.
#[inline(always)]
fn times_derivative(g: f32, y: f32) -> f32 {
    g / (2.0 * y)
}
