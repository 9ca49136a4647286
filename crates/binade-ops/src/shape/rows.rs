//! What moves elements, and scalars.

use super::{ShapeError, element_count, size};
use binade_core::{Op, OpClass};

const RESHAPE: Op = Op::custom("reshape", OpClass::Shape);

/// A table `[V, D]` and indices of any shape give that shape with D appended.
///
/// # Errors
///
/// `Mismatch` otherwise.
pub fn embedding(table: &[usize], indices: &[usize]) -> Result<Vec<usize>, ShapeError> {
    match table {
        &[_, d] => Ok([indices, &[d]].concat()),
        _ => Err(ShapeError::mismatch(
            Op::EMBEDDING,
            &[table, indices],
            "a table [V, D], and indices of any shape",
        )),
    }
}

/// `from` seen as `to`.
///
/// # Errors
///
/// `Mismatch` where the number of elements would change.
pub fn reshape(from: &[usize], to: &[usize]) -> Result<Vec<usize>, ShapeError> {
    if size(to, 1) == Some(element_count(from)) {
        return Ok(to.to_vec());
    }
    Err(ShapeError::mismatch(RESHAPE, &[from, to], "shapes of equally many elements"))
}

/// The empty shape; `op` is the operation whose gradient it is.
///
/// # Errors
///
/// `Mismatch` for any other.
pub fn scalar(op: Op, grad: &[usize]) -> Result<Vec<usize>, ShapeError> {
    if grad.is_empty() {
        return Ok(Vec::new());
    }
    Err(ShapeError::mismatch(op, &[grad], "the gradient of a scalar, []"))
}
