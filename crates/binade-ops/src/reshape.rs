//! The same elements under another shape.

use binade_core::Handle;

/// Changes extents and nothing else.
///
/// # For implementers
///
/// * Elements keep their row-major order, their type and their bits; storage may be shared.
/// * There is no backward method: the gradient is `grad` reshaped to what `input` was.
pub trait Reshape: Handle {
    /// `input` seen as `shape`.
    ///
    /// # Errors
    ///
    /// `Mismatch` where the number of elements would change.
    fn reshape(&self, input: &Self::Tensor, shape: &[usize]) -> Result<Self::Tensor, Self::Error>;
}
