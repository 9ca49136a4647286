//! Tensors of one value.

use crate::{DType, Handle};

/// Creation of tensors of one value: zeros, ones, the gradient that a backward pass starts from.
///
/// # For implementers
///
/// * `value` is rounded once, to nearest even.
pub trait Fill: Handle {
    /// Returns a tensor of `value` everywhere.
    ///
    /// # Errors
    ///
    /// `Unsupported` for an element type the device cannot store, `InvalidArgument` for a shape larger than any memory.
    fn fill(&self, value: f32, shape: &[usize], dtype: DType) -> Result<Self::Tensor, Self::Error>;
}
