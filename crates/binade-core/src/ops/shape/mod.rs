//! Shapes of results, from the shapes of the operands: one rule for all backends.
//!
//! A device that runs later knows its shapes now, and all devices refuse the same operands with the same words.

#![expect(clippy::many_single_char_names, reason = "axes go by the letters the field gives them")]

mod attention;
mod part;
mod permute;
mod windows;

use crate::ops::ShapeError;
use crate::{Op, OpClass};

pub use attention::MaskLayout;
pub(crate) use attention::attention;
pub use part::Part;
pub(crate) use part::{cat, check_narrowed, narrow};
pub(crate) use permute::permute;
pub use permute::{MOST_AXES, Permutation};
pub use windows::{Pooling, Windows};
pub(crate) use windows::{adaptive_avg_pool2d, avg_pool2d, conv2d, max_pool2d};

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
pub(crate) fn bounded(op: Op, shape: Vec<usize>) -> Result<Vec<usize>, ShapeError> {
    // An element has up to eight bytes, and an allocation has at most half of the bytes that a `usize` counts.
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
pub(crate) fn matmul(a: &[usize], b: &[usize]) -> Result<Vec<usize>, ShapeError> {
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
pub(crate) fn bmm(a: &[usize], b: &[usize]) -> Result<Vec<usize>, ShapeError> {
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
pub(crate) fn linear(
    op: Op,
    input: &[usize],
    weight: &[usize],
    bias: Option<&[usize]>,
) -> Result<Vec<usize>, ShapeError> {
    match (input, weight) {
        ([lead @ .., k], &[n, k2]) if *k == k2 && bias.is_none_or(|bias| bias == [n]) => {
            bounded(op, [lead, &[n]].concat())
        }
        _ => Err(ShapeError::mismatch(
            op,
            &[&[input, weight][..], bias.as_slice()].concat(),
            "input [.., in], weight [out, in], bias [out]",
        )),
    }
}

/// Returns the shape of a normalisation of the last axis: that of the input `[.., D]`, with vectors `[D]` (weight, and a layer
/// normalisation's bias).
///
/// # Errors
///
/// `Mismatch` otherwise.
pub(crate) fn norm_of_last_axis(
    op: Op,
    input: &[usize],
    vectors: &[&[usize]],
) -> Result<Vec<usize>, ShapeError> {
    let expected = if op == Op::RMS_NORM {
        "input [.., D], weight [D]"
    } else {
        "input [.., D], weight [D], bias [D]"
    };
    match input.last() {
        Some(&d) if vectors.iter().all(|vector| **vector == [d]) => Ok(input.to_vec()),
        _ => Err(ShapeError::mismatch(op, &[&[input], vectors].concat(), expected)),
    }
}

/// Returns the shape of a batch normalisation: that of the input `[N, C, ..]`, with vectors `[C]` (weight, bias, running mean and
/// variance).
///
/// # Errors
///
/// `Mismatch` otherwise.
pub(crate) fn batch_norm(input: &[usize], vectors: &[&[usize]]) -> Result<Vec<usize>, ShapeError> {
    match input {
        &[_, c, ..] if vectors.iter().all(|vector| **vector == [c]) => Ok(input.to_vec()),
        _ => Err(ShapeError::mismatch(
            Op::BATCH_NORM,
            &[&[input], vectors].concat(),
            "input [N, C, ..], and [C] for weight, bias and running statistics",
        )),
    }
}

/// Returns the shape of a group normalisation: that of the input `[N, C, ..]`, with vectors `[C]` (weight and bias).
///
/// # Errors
///
/// `Mismatch` if the operands do not fit or groups do not divide C; `InvalidArgument` for 0 groups.
pub(crate) fn group_norm(
    input: &[usize],
    vectors: &[&[usize]],
    groups: usize,
) -> Result<Vec<usize>, ShapeError> {
    if groups == 0 {
        return Err(ShapeError::argument(Op::GROUP_NORM, "0 groups", &[input], "at least 1"));
    }
    match input {
        // A tensor without channels has one group: any number divides 0, and no device goes through so many.
        &[_, c, ..]
            if groups <= c.max(1)
                && c.is_multiple_of(groups)
                && vectors.iter().all(|it| **it == [c]) =>
        {
            Ok(input.to_vec())
        }
        _ => Err(ShapeError::mismatch(
            Op::GROUP_NORM,
            &[&[input], vectors].concat(),
            "input [N, C, ..] of C divisible by groups, and [C] for weight and bias",
        )),
    }
}

/// Checks that a batch that is normalised by its own statistics has two values of a channel; fewer have no variance.
///
/// # Errors
///
/// `InvalidArgument` for fewer.
pub(crate) fn check_batch_norm_samples(input: &[usize]) -> Result<(), ShapeError> {
    let others = input.iter().enumerate().filter(|(axis, _)| *axis != 1).map(|(_, n)| *n);
    let samples = element_count(&others.collect::<Vec<_>>());
    if samples < 2 {
        let argument = format!("{samples} value(s) a channel");
        let expected = "at least 2 in training; a batch of one is for the inference form";
        return Err(ShapeError::argument(Op::BATCH_NORM, argument, &[input], expected));
    }
    Ok(())
}

/// Checks that the operand of a softmax, or the gradient of a bias addition, is not a scalar.
///
/// # Errors
///
/// `Mismatch` for a scalar.
pub(crate) fn check_axis(op: Op, input: &[usize]) -> Result<(), ShapeError> {
    if input.is_empty() {
        return Err(ShapeError::mismatch(op, &[input], "at least one axis"));
    }
    Ok(())
}

/// Checks that two shapes are equal.
///
/// # Errors
///
/// `Mismatch` otherwise.
pub(crate) fn check_same(op: Op, a: &[usize], b: &[usize]) -> Result<(), ShapeError> {
    if a == b { Ok(()) } else { Err(ShapeError::mismatch(op, &[a, b], "equal shapes")) }
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
pub(crate) fn bias_add(input: &[usize], bias: &[usize]) -> Result<Vec<usize>, ShapeError> {
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
pub(crate) fn dropout(input: &[usize], key: &[usize], p: f32) -> Result<Vec<usize>, ShapeError> {
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

/// Returns the shape of a rotary position embedding: that of the input `[.., L, E]`, with two tables `[L, E / 2]`.
///
/// # Errors
///
/// `Mismatch` otherwise.
pub(crate) fn rotary_embedding(
    input: &[usize],
    tables: [&[usize]; 2],
) -> Result<Vec<usize>, ShapeError> {
    match input {
        [.., l, e] if e.is_multiple_of(2) && tables == [&[*l, e / 2]; 2] => Ok(input.to_vec()),
        _ => {
            let expected = "input [.., L, E] with an even E, and two tables [L, E / 2]";
            Err(ShapeError::mismatch(
                Op::ROTARY_EMBEDDING,
                &[&[input], &tables[..]].concat(),
                expected,
            ))
        }
    }
}

/// Checks that a mask has the last axes of the input: `[.., M]` and `[M]`, for any number of axes M.
///
/// # Errors
///
/// `Mismatch` otherwise.
pub(crate) fn check_masked_fill(input: &[usize], mask: &[usize]) -> Result<(), ShapeError> {
    if input.ends_with(mask) {
        return Ok(());
    }
    let expected = "a mask of the input's shape, or of its last axes";
    Err(ShapeError::mismatch(Op::MASKED_FILL, &[input, mask], expected))
}

/// Returns the shape of an embedding: a table `[V, D]` and indices of any shape give that shape with D appended.
///
/// # Errors
///
/// `Mismatch` otherwise; `InvalidArgument` for a result larger than any memory.
pub(crate) fn embedding(table: &[usize], indices: &[usize]) -> Result<Vec<usize>, ShapeError> {
    match table {
        &[_, d] => bounded(Op::EMBEDDING, [indices, &[d]].concat()),
        _ => Err(ShapeError::mismatch(
            Op::EMBEDDING,
            &[table, indices],
            "a table [V, D], and indices of any shape",
        )),
    }
}

/// Returns the shape `[rows, D]` of an embedding's table, from the gradient of its result and the indices.
///
/// # Errors
///
/// `Mismatch` for a gradient of another shape than the result; `InvalidArgument` for a table larger than any memory.
pub(crate) fn embedding_table(
    rows: usize,
    grad: &[usize],
    indices: &[usize],
) -> Result<Vec<usize>, ShapeError> {
    let table = bounded(Op::EMBEDDING, vec![rows, grad.last().copied().unwrap_or_default()])?;
    check_same(Op::EMBEDDING, grad, &embedding(&table, indices)?)?;
    Ok(table)
}

/// Returns the shape of a tensor of one value.
///
/// # Errors
///
/// `InvalidArgument` if it is larger than any memory.
pub(crate) fn fill(shape: &[usize]) -> Result<Vec<usize>, ShapeError> {
    bounded(FILL, shape.to_vec())
}

/// Returns `to`, the shape that `from` is seen as.
///
/// # Errors
///
/// `Mismatch` if the number of elements would change.
pub(crate) fn reshape(from: &[usize], to: &[usize]) -> Result<Vec<usize>, ShapeError> {
    if size(to, 1) == Some(element_count(from)) {
        return Ok(to.to_vec());
    }
    Err(ShapeError::mismatch(RESHAPE, &[from, to], "shapes of equally many elements"))
}

/// Checks that the gradient of a scalar has the empty shape.
///
/// # Errors
///
/// `Mismatch` for any other.
pub(crate) fn check_scalar(op: Op, grad: &[usize]) -> Result<(), ShapeError> {
    if grad.is_empty() {
        return Ok(());
    }
    Err(ShapeError::mismatch(op, &[grad], "the gradient of a scalar, []"))
}

/// Checks the operands of a cross-entropy: logits `[N, C]` and labels `[N]`.
///
/// # Errors
///
/// `Mismatch` otherwise.
pub(crate) fn check_cross_entropy(logits: &[usize], labels: &[usize]) -> Result<(), ShapeError> {
    match (logits, labels) {
        (&[n, _], &[n2]) if n == n2 => Ok(()),
        _ => Err(ShapeError::mismatch(
            Op::CROSS_ENTROPY,
            &[logits, labels],
            "logits [N, C] and labels [N]",
        )),
    }
}
