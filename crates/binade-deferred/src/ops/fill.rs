//! Tensors of one value.

use super::operands;
use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_ops::Fill;

impl Fill for Deferred {
    fn fill(&self, value: f32, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        let like = Like { shape: shape.to_vec(), dtype };
        operands::storable(&like)?;
        let shape = like.shape.clone();
        Ok(self.tensor(&[], like, move |_| Cpu.fill(value, &shape, dtype)))
    }
}
