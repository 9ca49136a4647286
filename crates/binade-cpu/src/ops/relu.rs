//! Rectified linear unit.

use super::pointwise;
use crate::{Cpu, Error, Tensor};
use binade_core::Op;
use binade_ops::Relu;

// Comparisons with NaN are false: in this order NaN passes.
impl Relu for Cpu {
    fn relu(&self, input: &Tensor) -> Result<Tensor, Error> {
        pointwise::map(Op::RELU, input, |x| if x <= 0.0 { 0.0 } else { x })
    }

    fn relu_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(Op::RELU, grad, output, |g, y| if y <= 0.0 { 0.0 } else { g })
    }
}
