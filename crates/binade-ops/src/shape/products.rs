//! Shapes of matrix products.

#![expect(clippy::many_single_char_names, reason = "axes go by the letters the field gives them")]

use super::{ShapeError, bounded};
use binade_core::Op;

/// Returns the shape of a matrix product: `[M, K]` and `[K, N]` give `[M, N]`.
///
/// # Errors
///
/// `Mismatch` otherwise; `InvalidArgument` for a result larger than any memory.
pub fn matmul(a: &[usize], b: &[usize]) -> Result<Vec<usize>, ShapeError> {
    match (a, b) {
        (&[m, k], &[k2, n]) if k == k2 => bounded(Op::MATMUL, vec![m, n]),
        _ => Err(ShapeError::mismatch(Op::MATMUL, &[a, b], "[M, K] and [K, N]")),
    }
}

/// Returns the shape of a batch of products: `[.., M, K]` and `[.., K, N]` with equal leading extents give `[.., M, N]`.
///
/// # Errors
///
/// `Mismatch` otherwise; `InvalidArgument` for a result larger than any memory.
pub fn bmm(a: &[usize], b: &[usize]) -> Result<Vec<usize>, ShapeError> {
    match (a, b) {
        ([lead @ .., m, k], [lead2 @ .., k2, n])
            if !lead.is_empty() && lead == lead2 && k == k2 =>
        {
            bounded(Op::BMM, [lead, &[*m, *n]].concat())
        }
        _ => Err(ShapeError::mismatch(
            Op::BMM,
            &[a, b],
            "[.., M, K] and [.., K, N] with at least one leading axis, all of them equal",
        )),
    }
}

/// Returns the shape of a linear layer: `[.., in]` with weight `[out, in]` and bias `[out]` gives `[.., out]`.
///
/// # Errors
///
/// `Mismatch` otherwise; `InvalidArgument` for a result larger than any memory.
pub fn linear(
    input: &[usize],
    weight: &[usize],
    bias: Option<&[usize]>,
) -> Result<Vec<usize>, ShapeError> {
    match (input, weight) {
        ([lead @ .., k], &[n, k2]) if *k == k2 && bias.is_none_or(|bias| bias == [n]) => {
            bounded(Op::LINEAR, [lead, &[n]].concat())
        }
        _ => Err(ShapeError::mismatch(
            Op::LINEAR,
            &[&[input, weight][..], bias.as_slice()].concat(),
            "input [.., in], weight [out, in], bias [out]",
        )),
    }
}
