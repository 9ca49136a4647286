//! Cross-entropy of class labels.

use crate::Handle;

/// Mean over the rows of `−log_softmax(logits)[label]`, for logits `[N, C]` and i64 labels `[N]`.
///
/// # For implementers
///
/// * Everything is f32 whatever the storage; the loss is an f32 scalar (shape `[]`).
/// * The largest logit of each row is subtracted first, so that no finite row overflows.
/// * The gradient is `(softmax(logits) − onehot) · grad / N`, narrowed once to the element type of `logits`.
/// * A label outside `0..C` is `InvalidArgument` at the call or when the result is read; a device that cannot report
///   it makes the loss NaN. It never reads beyond the row.
/// * The loss of no rows is NaN, as any mean of nothing.
pub trait CrossEntropy: Handle {
    /// Returns the loss.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes do not agree or `labels` are not i64.
    fn cross_entropy(
        &self,
        logits: &Self::Tensor,
        labels: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of the logits, for the f32 scalar `grad`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn cross_entropy_backward(
        &self,
        grad: &Self::Tensor,
        logits: &Self::Tensor,
        labels: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
