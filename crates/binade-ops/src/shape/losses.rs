//! Losses: scalars.

use super::ShapeError;
use binade_core::Op;

/// Logits `[N, C]` and labels `[N]` give a scalar.
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

/// Two tensors of one shape give a scalar.
///
/// # Errors
///
/// `Mismatch` otherwise.
pub fn mse_loss(input: &[usize], target: &[usize]) -> Result<Vec<usize>, ShapeError> {
    super::same(Op::MSE_LOSS, input, target).map(|_| Vec::new())
}
