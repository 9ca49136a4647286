//! Extents of a tensor.

use crate::{Cpu, Tensor};
use binade_ops::Shaped;

impl Shaped for Cpu {
    fn shape(&self, tensor: &Tensor) -> Vec<usize> {
        tensor.shape().to_vec()
    }
}
