//! Rectified linear unit.

use super::pointwise;
use crate::{Cpu, Error, Tensor};
use binade_core::ops::{OpInvocation, Relu};

// Comparisons with NaN are false: in this order NaN passes.
impl Relu for Cpu {
    fn relu(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::map(&OpInvocation::Relu, input, |x| if x <= 0.0 { 0.0 } else { x })
    }

    fn relu_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(
            &OpInvocation::ReluBackward,
            grad,
            output,
            |g, y| if y <= 0.0 { 0.0 } else { g },
        )
    }
}
