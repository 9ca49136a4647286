//! Reordering of axes.

use crate::Handle;

/// Reordering of axes, as torch's `permute`.
///
/// # For implementers
///
/// * Axis `i` of the result is axis `axes[i]` of the input. Elements keep their type and their bits.
/// * The result lies in row-major order. Storage may be shared where the order of the elements does not change.
/// * There is no backward method: the gradient is `grad` with the axes in their order before.
pub trait Permute: Handle {
    /// Returns `input` with its axes in another order.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if `axes` do not name each axis once, or are more than [`MOST_AXES`](super::shape::MOST_AXES).
    fn permute(&self, input: &Self::Tensor, axes: &[usize]) -> Result<Self::Tensor, Self::Error>;
}
