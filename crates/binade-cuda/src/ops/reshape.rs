//! The same elements under another shape.

use crate::{Cuda, Error, Tensor};
use binade_ops::Reshape;

impl Reshape for Cuda {
    fn reshape(&self, tensor: &Tensor, shape: &[usize]) -> Result<Tensor, Error> {
        self.has_made_all(&[tensor])?;
        tensor.reshape(shape)
    }
}
