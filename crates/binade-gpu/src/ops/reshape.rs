//! Reshaping: equal elements under another shape.

use crate::{Driver, Result, Tensor};

pub fn reshape<D: Driver>(device: &D, tensor: &Tensor<D>, shape: &[usize]) -> Result<Tensor<D>, D> {
    device.check_owners(&[tensor])?;
    tensor.reshape(shape)
}
