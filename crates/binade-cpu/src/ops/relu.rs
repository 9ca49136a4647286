//! Rectified linear unit.

use super::pointwise;
use crate::{Cpu, Error, Tensor};
use binade_core::ops::{OpInvocation, Relu};

// Comparisons with NaN are false: in this order NaN passes.
impl Relu for Cpu {
    fn relu(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::map(&OpInvocation::Relu, input, relu)
    }

    fn relu_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::ReluBackward, grad, output, times_derivative)
    }
}

#[inline(always)]
fn relu(x: f32) -> f32 {
    if x <= 0.0 { 0.0 } else { x }
}

/// Returns `g`, or 0 where the output is.
#[inline(always)]
fn times_derivative(g: f32, y: f32) -> f32 {
    if y <= 0.0 { 0.0 } else { g }
}
