//! Reshaping: equal elements under another shape.

use crate::{Cpu, Error, Tensor};
use binade_core::ops::Reshape;

impl Reshape for Cpu {
    fn reshape(&self, input: &Tensor, shape: &[usize]) -> Result<Tensor, Error> {
        input.reshape(shape)
    }
}
