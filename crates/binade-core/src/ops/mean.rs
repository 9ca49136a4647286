//! Mean of all elements.

use crate::{DType, Handle};

/// Mean of all elements, an f32 scalar (shape `[]`) whatever the storage.
///
/// # For implementers
///
/// * Accumulated in f32 or wider, in an order that does not depend on the number of threads: 70,000 ones are 70,000
///   ones in every element type.
/// * The mean of nothing is NaN.
pub trait Mean: Handle {
    /// Returns the mean.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the element type is not floating-point.
    fn mean(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of an input of this shape and element type, for the f32 scalar `grad`: `grad / count` everywhere,
    /// rounded once.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` is not an f32 scalar.
    fn mean_backward(
        &self,
        grad: &Self::Tensor,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Self::Tensor, Self::Error>;
}
