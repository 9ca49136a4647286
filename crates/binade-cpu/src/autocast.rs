//! Element types of tensors, and casts between them.

use crate::{Cpu, Error, Tensor};
use binade_autocast::Autocast;
use binade_core::DType;
use std::borrow::Cow;

/// Keeps no casts. A bare tensor cannot tell a parameter from an activation, and keeping casts of activations would hold a whole
/// forward pass in memory twice. A tape can tell them apart.
impl Autocast for Cpu {
    fn dtype(&self, tensor: &Tensor) -> DType {
        tensor.dtype()
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Error> {
        tensor.cast(to)
    }

    fn extents<'t>(&self, tensor: &'t Tensor) -> Option<Cow<'t, [usize]>> {
        Some(tensor.shape().into())
    }
}
