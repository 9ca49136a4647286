//! Reshaping: equal elements under another shape.

use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_gpu::Driver;
use binade_ops::Reshape;

pub(super) const SHADERS: &[&Shader] = &[];

impl Reshape for Wgpu {
    fn reshape(&self, tensor: &Tensor, shape: &[usize]) -> Result<Tensor, Error> {
        self.has_made_all(&[tensor])?;
        tensor.reshape(shape)
    }
}
