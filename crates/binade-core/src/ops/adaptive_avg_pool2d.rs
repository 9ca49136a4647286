//! Mean of each of a given number of windows.

use crate::Handle;

/// Adaptive average pooling: images `[N, C, H, W]` averaged to `[N, C, H', W']`, whatever their extents.
///
/// # For implementers
///
/// * Row `i` of the result has the mean of the rows from `⌊i·H / H'⌋` to before `⌈(i + 1)·H / H'⌉`; columns alike.
/// * A window's elements are added up in f32 whatever the storage, and divided by their number. The quotient is narrowed once, to
///   nearest even.
/// * Backward divides each window's gradient by that number, in f32; an element's gradient is the f32 sum over the windows that it
///   lies in, narrowed once.
pub trait AdaptiveAvgPool2d: Handle {
    /// Returns the means of `output` rows and columns of windows. `[1, 1]` averages whole planes.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `input` is not `[N, C, H, W]` with at least one row and column; `InvalidArgument` for an output of 0 rows or
    /// columns.
    fn adaptive_avg_pool2d(
        &self,
        input: &Self::Tensor,
        output: [usize; 2],
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of the input, which has this shape.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the images and channels of `shape`.
    fn adaptive_avg_pool2d_backward(
        &self,
        grad: &Self::Tensor,
        shape: &[usize],
    ) -> Result<Self::Tensor, Self::Error>;
}
