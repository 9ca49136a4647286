//! Sum of a tensor and a vector along the channel axis.

use crate::Handle;

/// Sum `x + b` with `b` along the channel axis: axis 1 of images `[N, C, H, W]`, the last axis of anything else.
///
/// # For implementers
///
/// * Added in f32 whatever the storage, and narrowed once, to nearest even.
/// * The result has the element type that both operands have.
/// * The bias' gradient is summed in f32 over all other axes, and narrowed once.
pub trait BiasAdd: Handle {
    /// Returns the sum, in the shape of `input`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `bias` is not a vector of the channel axis' extent, or of another element type.
    fn bias_add(
        &self,
        input: &Self::Tensor,
        bias: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradients of input (equal to `grad`) and bias.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` is a scalar or not floating-point.
    fn bias_add_backward(&self, grad: &Self::Tensor) -> Result<[Self::Tensor; 2], Self::Error>;
}
