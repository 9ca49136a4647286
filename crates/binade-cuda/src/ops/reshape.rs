//! Reshaping: equal elements under another shape.

use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_gpu::Driver;
use binade_ops::Reshape;

pub(super) const KERNELS: &[&Kernel] = &[];

impl Reshape for Cuda {
    fn reshape(&self, tensor: &Tensor, shape: &[usize]) -> Result<Tensor, Error> {
        self.has_made_all(&[tensor])?;
        tensor.reshape(shape)
    }
}
