//! Reshaping: equal elements under another shape.

use crate::Handle;

/// Reshaping: changes only the extents.
///
/// # For implementers
///
/// * Elements keep their row-major order, their type and their bits; storage may be shared.
/// * There is no backward method: the gradient is `grad` reshaped to what `input` was.
pub trait Reshape: Handle {
    /// Returns `input` seen as `shape`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the number of elements would change.
    fn reshape(&self, input: &Self::Tensor, shape: &[usize]) -> Result<Self::Tensor, Self::Error>;
}
