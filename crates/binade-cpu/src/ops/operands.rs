//! What operations ask of their operands' element types.

use crate::{Error, Tensor};
use binade_core::{DType, Op};
use binade_ops::shape;

/// The element type that all of `tensors` have: bf16, f16 or f32.
pub(super) fn float(op: Op, tensors: &[&Tensor]) -> Result<DType, Error> {
    match tensors {
        [first, rest @ ..]
            if is_float(first) && rest.iter().all(|t| t.dtype() == first.dtype()) =>
        {
            Ok(first.dtype())
        }
        _ => Err(mismatch(op, tensors, "one of bf16, f16, f32, the same for all")),
    }
}

/// The element types of a normalised input and of its parameters: the input's, or f32.
pub(super) fn norm(
    op: Op,
    input: &Tensor,
    parameters: &[&Tensor],
) -> Result<(DType, DType), Error> {
    let dtype = float(op, &[input])?;
    let of_parameters = float(op, parameters)?;
    if of_parameters == dtype || of_parameters == DType::F32 {
        return Ok((dtype, of_parameters));
    }
    let found = [&[input], parameters].concat();
    Err(mismatch(op, &found, "parameters of the input's type, or f32"))
}

/// The elements of an i64 operand, all of which must lie in `0..limit`.
pub(super) fn indices(op: Op, tensor: &Tensor, limit: usize) -> Result<Vec<usize>, Error> {
    let indices = integers(op, tensor)?.iter().enumerate();
    let checked = indices.map(|(position, &index)| {
        let inside = usize::try_from(index).ok().filter(|i| *i < limit);
        inside.ok_or(Error::Index { op: op.name(), index, position, limit })
    });
    checked.collect()
}

/// Seed and counter of a key `[2]`.
pub(super) fn key(op: Op, tensor: &Tensor) -> Result<[u64; 2], Error> {
    match integers(op, tensor)? {
        &[seed, counter] => Ok([seed.cast_unsigned(), counter.cast_unsigned()]),
        _ => Err(mismatch(op, &[tensor], "a key of two i64")),
    }
}

/// Holds all of `tensors` to f32.
pub(super) fn all_f32(op: Op, tensors: &[&Tensor]) -> Result<(), Error> {
    if tensors.iter().all(|tensor| tensor.dtype() == DType::F32) {
        return Ok(());
    }
    Err(mismatch(op, tensors, "running statistics of f32"))
}

fn integers(op: Op, tensor: &Tensor) -> Result<&[i64], Error> {
    tensor.as_slice().ok_or_else(|| mismatch(op, &[tensor], "i64"))
}

/// The value of a scalar's gradient, which is f32 whatever the operands.
pub(super) fn scalar_grad(op: Op, grad: &Tensor) -> Result<f32, Error> {
    shape::scalar(op, grad.shape())?;
    match grad.as_slice::<f32>() {
        Some(&[value]) => Ok(value),
        _ => Err(mismatch(op, &[grad], "an f32 gradient, as the scalar is f32")),
    }
}

/// Holds a gradient to the shape and element type of what it is the gradient of.
pub(super) fn check_grad(
    op: Op,
    grad: &Tensor,
    shape: &[usize],
    dtype: DType,
) -> Result<(), Error> {
    shape::same(op, grad.shape(), shape)?;
    if grad.dtype() == dtype {
        return Ok(());
    }
    let found = vec![grad.dtype(), dtype];
    Err(Error::DType { op: op.name(), found, expected: "a gradient of the result's type" })
}

fn is_float(tensor: &Tensor) -> bool {
    matches!(tensor.dtype(), DType::BF16 | DType::F16 | DType::F32)
}

fn mismatch(op: Op, tensors: &[&Tensor], expected: &'static str) -> Error {
    let found = tensors.iter().map(|tensor| tensor.dtype()).collect();
    Error::DType { op: op.name(), found, expected }
}
