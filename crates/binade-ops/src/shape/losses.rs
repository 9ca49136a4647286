//! Shapes of losses, which are scalars.

use super::ShapeError;
use binade_core::Op;

/// Returns the shape of a cross-entropy: a scalar, from logits `[N, C]` and labels `[N]`.
///
/// # Errors
///
/// `Mismatch` otherwise.
pub fn cross_entropy(logits: &[usize], labels: &[usize]) -> Result<Vec<usize>, ShapeError> {
    match (logits, labels) {
        (&[n, _], &[n2]) if n == n2 => Ok(Vec::new()),
        _ => Err(ShapeError::mismatch(
            Op::CROSS_ENTROPY,
            &[logits, labels],
            "logits [N, C] and labels [N]",
        )),
    }
}

/// Returns the shape of a mean squared error: a scalar, from two tensors of one shape.
///
/// # Errors
///
/// `Mismatch` otherwise.
pub fn mse_loss(input: &[usize], target: &[usize]) -> Result<Vec<usize>, ShapeError> {
    super::same(Op::MSE_LOSS, input, target).map(|_| Vec::new())
}
