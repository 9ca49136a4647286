//! Shapes of operations that move elements, and of scalars.

use super::{ShapeError, bounded, element_count, size};
use binade_core::{Op, OpClass};

/// Names of `Fill` and `Reshape` in errors.
const FILL: Op = Op::custom("fill", OpClass::Shape);

const RESHAPE: Op = Op::custom("reshape", OpClass::Shape);

/// Returns the shape of an embedding: a table `[V, D]` and indices of any shape give that shape with D appended.
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

/// Returns the shape of a tensor of one value.
///
/// # Errors
///
/// `InvalidArgument` if it is larger than any memory.
pub fn fill(shape: &[usize]) -> Result<Vec<usize>, ShapeError> {
    bounded(FILL, shape.to_vec())
}

/// Returns `to`, the shape that `from` is seen as.
///
/// # Errors
///
/// `Mismatch` if the number of elements would change.
pub fn reshape(from: &[usize], to: &[usize]) -> Result<Vec<usize>, ShapeError> {
    if size(to, 1) == Some(element_count(from)) {
        return Ok(to.to_vec());
    }
    Err(ShapeError::mismatch(RESHAPE, &[from, to], "shapes of equally many elements"))
}

/// Returns the empty shape of a scalar's gradient; `op` is the operation to name.
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
