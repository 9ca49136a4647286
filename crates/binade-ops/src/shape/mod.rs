//! Shapes of results, from the shapes of the operands: one rule for all backends.
//!
//! A device that runs later knows its shapes now, and all devices refuse the same operands with the same words.

#![expect(clippy::many_single_char_names, reason = "axes go by the letters the field gives them")]

mod error;
mod windows;

use binade_core::{Op, OpClass};

pub use error::ShapeError;
pub use windows::{conv2d, max_pool2d};

/// Name of `Fill` in errors.
const FILL: Op = Op::custom("fill", OpClass::Shape);

/// Name of `Reshape` in errors.
const RESHAPE: Op = Op::custom("reshape", OpClass::Shape);

/// Returns the number of elements of a shape; 1 for a scalar, and `usize::MAX` beyond the range of `usize`.
pub fn element_count(shape: &[usize]) -> usize {
    size(shape, 1).unwrap_or(if shape.contains(&0) { 0 } else { usize::MAX })
}

/// Returns `shape` itself, as the shape of a result of `op`.
///
/// # Errors
///
/// `InvalidArgument` if its extents, but for zeros, multiply to more than any memory holds: 2^60 on machines of 64 bits.
pub fn bounded(op: Op, shape: Vec<usize>) -> Result<Vec<usize>, ShapeError> {
    // Eight bytes an element, and no allocation has more than half of what a `usize` counts.
    match size(&shape, 16) {
        Some(_) => Ok(shape),
        None => Err(ShapeError::TooLarge { op: op.name(), shape }),
    }
}

/// Returns the bytes of a shape whose elements have `each`, or its elements if `each` is 1. Returns `None` if its extents, but
/// for zeros, multiply to more than a `usize` counts.
pub fn size(shape: &[usize], each: usize) -> Option<usize> {
    let is_empty = shape.contains(&0);
    let mut extents = shape.iter().filter(|extent| **extent != 0);
    let bytes = extents.try_fold(each, |bytes, extent| bytes.checked_mul(*extent))?;
    Some(if is_empty { 0 } else { bytes })
}

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

/// Returns the shape of a layer normalisation: that of the input `[.., D]`, with weight and bias `[D]`.
///
/// # Errors
///
/// `Mismatch` otherwise.
pub fn layer_norm(
    input: &[usize],
    weight: &[usize],
    bias: &[usize],
) -> Result<Vec<usize>, ShapeError> {
    match input.last() {
        Some(&d) if weight == [d] && bias == [d] => Ok(input.to_vec()),
        _ => Err(ShapeError::mismatch(
            Op::LAYER_NORM,
            &[input, weight, bias],
            "input [.., D], weight [D], bias [D]",
        )),
    }
}

/// Returns the shape of a batch normalisation: that of the input `[N, C, ..]`, with vectors `[C]` (weight, bias, running mean and
/// variance).
///
/// # Errors
///
/// `Mismatch` otherwise.
pub fn batch_norm(input: &[usize], vectors: &[&[usize]]) -> Result<Vec<usize>, ShapeError> {
    match input {
        &[_, c, ..] if vectors.iter().all(|vector| **vector == [c]) => Ok(input.to_vec()),
        _ => Err(ShapeError::mismatch(
            Op::BATCH_NORM,
            &[&[input], vectors].concat(),
            "input [N, C, ..], and [C] for weight, bias and running statistics",
        )),
    }
}

/// Returns the number of values of a channel in a batch that is normalised by its own statistics.
///
/// # Errors
///
/// `InvalidArgument` for fewer than two, which have no variance.
pub fn batch_norm_samples(input: &[usize]) -> Result<usize, ShapeError> {
    let others = input.iter().enumerate().filter(|(axis, _)| *axis != 1).map(|(_, n)| *n);
    let samples = element_count(&others.collect::<Vec<_>>());
    if samples < 2 {
        let argument = format!("{samples} value(s) a channel");
        let expected = "at least 2 in training; a batch of one is for the inference form";
        return Err(ShapeError::argument(Op::BATCH_NORM, argument, &[input], expected));
    }
    Ok(samples)
}

/// Returns the shape of a softmax: that of the input `[.., D]`. `op` is softmax or its logarithm.
///
/// # Errors
///
/// `Mismatch` for a scalar.
pub fn softmax(op: Op, input: &[usize]) -> Result<Vec<usize>, ShapeError> {
    if input.is_empty() {
        return Err(ShapeError::mismatch(op, &[input], "at least one axis"));
    }
    Ok(input.to_vec())
}

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
    same(Op::MSE_LOSS, input, target).map(|_| Vec::new())
}
