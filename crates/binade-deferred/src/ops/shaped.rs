//! Extents of a tensor.

use crate::{Deferred, Tensor};
use binade_ops::Shaped;

impl Shaped for Deferred {
    fn shape(&self, tensor: &Tensor) -> Vec<usize> {
        tensor.shape().to_vec()
    }
}
