//! Reshaping: equal elements under another shape.

use crate::{Driver, Gpu, Result, Tensor};

impl<D: Driver> binade_core::ops::Reshape for Gpu<'_, D> {
    fn reshape(&self, tensor: &Tensor<D>, shape: &[usize]) -> Result<Tensor<D>, D> {
        self.0.check_owners(&[tensor])?;
        tensor.reshape(shape)
    }
}
