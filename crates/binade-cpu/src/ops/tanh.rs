//! Hyperbolic tangent.

use super::pointwise;
use crate::{Cpu, Error, Tensor};
use binade_core::ops::{OpInvocation, Tanh};

impl Tanh for Cpu {
    fn tanh(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::map(&OpInvocation::Tanh, input, f32::tanh)
    }

    fn tanh_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::TanhBackward, grad, output, |g, y| g * (1.0 - y * y))
    }
}
