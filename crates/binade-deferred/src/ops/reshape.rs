//! Reshaping: equal elements under another shape.

use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_cpu::Cpu;
use binade_ops::{Reshape, shape};

impl Reshape for Deferred {
    fn reshape(&self, input: &Tensor, shape: &[usize]) -> Result<Tensor, Error> {
        let shape = shape::reshape(input.shape(), shape)?;
        let like = Like { shape: shape.clone(), dtype: input.dtype() };
        Ok(self.tensor(&[input], like, move |t| Cpu.reshape(t[0], &shape)))
    }
}
