//! The same elements under another shape.

use crate::{Error, Tensor, Wgpu};
use binade_ops::Reshape;

impl Reshape for Wgpu {
    fn reshape(&self, tensor: &Tensor, shape: &[usize]) -> Result<Tensor, Error> {
        self.has_made_all(&[tensor])?;
        tensor.reshape(shape)
    }
}
