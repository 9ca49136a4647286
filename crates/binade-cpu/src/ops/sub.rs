//! Elementwise difference.

use super::pointwise;
use crate::{Cpu, Error, Tensor};
use binade_core::ops::{OpInvocation, Sub};

impl Sub for Cpu {
    fn sub(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::Sub, a, b, std::ops::Sub::sub)
    }

    fn sub_backward(&self, grad: &Tensor) -> Result<[Tensor; 2], Error> {
        let opposite = pointwise::map(&OpInvocation::SubBackward, grad, std::ops::Neg::neg)?;
        Ok([grad.clone(), opposite])
    }
}
