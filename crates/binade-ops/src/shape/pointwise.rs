//! Shapes of elementwise operations.

use super::ShapeError;
use binade_core::Op;

/// Returns the shape of an elementwise operation: that of its two operands. `op` is the operation to name.
///
/// # Errors
///
/// `Mismatch` otherwise.
pub fn same(op: Op, a: &[usize], b: &[usize]) -> Result<Vec<usize>, ShapeError> {
    if a == b { Ok(a.to_vec()) } else { Err(ShapeError::mismatch(op, &[a, b], "equal shapes")) }
}

/// Returns the channel axis: 1 for images `[N, C, H, W]`, the last otherwise; `None` for a scalar.
pub fn channels(shape: &[usize]) -> Option<usize> {
    if shape.len() == 4 { Some(1) } else { shape.len().checked_sub(1) }
}

/// Returns the shape of a bias addition: that of the input, `[N, C, H, W]` with bias `[C]`, or `[.., D]` with bias `[D]`.
///
/// # Errors
///
/// `Mismatch` otherwise.
pub fn bias_add(input: &[usize], bias: &[usize]) -> Result<Vec<usize>, ShapeError> {
    match channels(input) {
        Some(axis) if bias == [input[axis]] => Ok(input.to_vec()),
        _ => Err(ShapeError::mismatch(
            Op::BIAS_ADD,
            &[input, bias],
            "[N, C, H, W] and [C], or [.., D] and [D]",
        )),
    }
}

/// Returns the shape of a dropout: that of the input, with a key `[2]`.
///
/// # Errors
///
/// `Mismatch` for another key, `InvalidArgument` for a `p` outside 0..=1.
pub fn dropout(input: &[usize], key: &[usize], p: f32) -> Result<Vec<usize>, ShapeError> {
    if !(0.0..=1.0).contains(&p) {
        let argument = format!("p = {p}");
        return Err(ShapeError::argument(Op::DROPOUT, argument, &[input], "0 ≤ p ≤ 1"));
    }
    if key != [2] {
        let expected = "any input, and a key [2]: seed and counter";
        return Err(ShapeError::mismatch(Op::DROPOUT, &[input, key], expected));
    }
    Ok(input.to_vec())
}
