//! What moves elements, and scalars.

use super::{ShapeError, bounded, element_count, size};
use binade_core::{Op, OpClass};

/// The name of `Fill` in errors.
const FILL: Op = Op::custom("fill", OpClass::Shape);

const RESHAPE: Op = Op::custom("reshape", OpClass::Shape);

/// A table `[V, D]` and indices of any shape give that shape with D appended.
///
/// # Errors
///
/// `Mismatch` otherwise; `InvalidArgument` for a result larger than any memory.
pub fn embedding(table: &[usize], indices: &[usize]) -> Result<Vec<usize>, ShapeError> {
    match table {
        &[_, d] => bounded(Op::EMBEDDING, [indices, &[d]].concat()),
        _ => Err(ShapeError::mismatch(
            Op::EMBEDDING,
            &[table, indices],
            "a table [V, D], and indices of any shape",
        )),
    }
}

/// The shape of a tensor of one value.
///
/// # Errors
///
/// `InvalidArgument` where it is larger than any memory.
pub fn fill(shape: &[usize]) -> Result<Vec<usize>, ShapeError> {
    bounded(FILL, shape.to_vec())
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
