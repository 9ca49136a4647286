//! Tensors joined along an axis.

use crate::Handle;

/// Concatenation of tensors along an axis, as torch's `cat`.
///
/// # For implementers
///
/// * Elements keep their type and their bits, and the result lies in row-major order. An input may have no element.
/// * There is no backward method: each gradient is a part of `grad`, by [`Narrow`](super::Narrow).
pub trait Cat: Handle {
    /// Returns the inputs, at least one, joined along `axis`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes differ on another axis, if element types differ, and without an input; `InvalidArgument` if there is
    /// no such axis.
    fn cat(&self, inputs: &[&Self::Tensor], axis: usize) -> Result<Self::Tensor, Self::Error>;
}
