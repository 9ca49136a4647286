//! Sum of all elements.

use crate::{DType, Handle};

/// Sum of all elements, an f32 scalar (shape `[]`) whatever the storage.
///
/// # For implementers
///
/// * Accumulated in f32 or wider, in an order that does not depend on the number of threads: 70,000 ones are 70,000
///   ones in every element type.
/// * The sum of nothing is 0.
pub trait Sum: Handle {
    /// Returns the sum.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the element type is not floating-point.
    fn sum(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of an input of this shape and element type, for the f32 scalar `grad`: `grad` everywhere, rounded
    /// once.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` is not an f32 scalar.
    fn sum_backward(
        &self,
        grad: &Self::Tensor,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Self::Tensor, Self::Error>;
}
