//! Tensors of one value.

use binade_core::{DType, Handle};

/// Makes a tensor whose elements are all the same: zeros, ones, the gradient a backward pass starts from.
///
/// # For implementers
///
/// * `value` is rounded once, to nearest even.
pub trait Fill: Handle {
    /// `value` everywhere.
    ///
    /// # Errors
    ///
    /// `Unsupported` for an element type the device cannot store, `InvalidArgument` for a shape larger than any memory.
    fn fill(&self, value: f32, shape: &[usize], dtype: DType) -> Result<Self::Tensor, Self::Error>;
}
