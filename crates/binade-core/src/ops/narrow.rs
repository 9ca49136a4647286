//! Part of a tensor along one axis.

use crate::Handle;

/// Range of indices along one axis, as torch's `narrow`. Several ranges make a split.
///
/// # For implementers
///
/// * Place `i` of the result on the axis is place `start + i` of the input. Elements keep their type and their bits.
/// * The result lies in row-major order. It may share the input's memory where its elements lie together.
/// * Backward leaves `+0` where no gradient arrives.
pub trait Narrow: Handle {
    /// Returns `len` places of `axis`, from `start` on.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the axis does not exist or is too short.
    fn narrow(
        &self,
        input: &Self::Tensor,
        axis: usize,
        start: usize,
        len: usize,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of an input of `shape`.
    ///
    /// # Errors
    ///
    /// The errors of [`narrow`](Self::narrow); `Mismatch` if `grad` differs from `shape` on another axis.
    fn narrow_backward(
        &self,
        grad: &Self::Tensor,
        shape: &[usize],
        axis: usize,
        start: usize,
    ) -> Result<Self::Tensor, Self::Error>;
}
