//! Shapes of normalisations.

use super::{ShapeError, element_count};
use binade_core::Op;

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
