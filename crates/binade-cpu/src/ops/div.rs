//! Elementwise quotient.

use super::pointwise;
use crate::{Cpu, Error, Tensor};
use binade_core::ops::{Div, OpInvocation};

impl Div for Cpu {
    fn div(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        pointwise::zip(&OpInvocation::Div, a, b, std::ops::Div::div)
    }

    fn div_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        let of_b = pointwise::zip3(&OpInvocation::DivBackward, [grad, a, b], of_divisor)?;
        Ok([self.div(grad, b)?, of_b])
    }
}

/// Computes `−g·(a / b) / b`.
#[inline(always)]
fn of_divisor(g: f32, a: f32, b: f32) -> f32 {
    -(g * (a / b) / b)
}
