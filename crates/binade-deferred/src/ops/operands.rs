//! What operations ask of their operands' element types, in the CPU's words: known at once, and so refused at once.

use crate::{Error, Tensor, tensor::Like};
use binade_core::{DType, Op};
use binade_ops::{Fill, shape};

/// The element type that all of `tensors` have: bf16, f16 or f32.
pub(super) fn float(op: Op, tensors: &[&Tensor]) -> Result<DType, Error> {
    let floats = |dtype| matches!(dtype, DType::BF16 | DType::F16 | DType::F32);
    match tensors {
        [first, rest @ ..]
            if floats(first.dtype()) && rest.iter().all(|t| t.dtype() == first.dtype()) =>
        {
            Ok(first.dtype())
        }
        _ => Err(mismatch(op, tensors, "one of bf16, f16, f32, the same for all")),
    }
}

/// Holds a normalised input and its parameters to one type, or the parameters to f32.
pub(super) fn norm(op: Op, input: &Tensor, parameters: &[&Tensor]) -> Result<(), Error> {
    let (of_input, of_parameters) = (float(op, &[input])?, float(op, parameters)?);
    if of_parameters == of_input || of_parameters == DType::F32 {
        return Ok(());
    }
    let found = [&[input], parameters].concat();
    Err(mismatch(op, &found, "parameters of the input's type, or f32"))
}

/// Holds labels, indices and keys to i64.
pub(super) fn integers(op: Op, tensor: &Tensor) -> Result<(), Error> {
    if tensor.dtype() == DType::I64 { Ok(()) } else { Err(mismatch(op, &[tensor], "i64")) }
}

/// Holds running statistics to f32.
pub(super) fn all_f32(op: Op, tensors: &[&Tensor]) -> Result<(), Error> {
    if tensors.iter().all(|tensor| tensor.dtype() == DType::F32) {
        return Ok(());
    }
    Err(mismatch(op, tensors, "running statistics of f32"))
}

/// Holds the gradient of a scalar to an f32 scalar.
pub(super) fn scalar_grad(op: Op, grad: &Tensor) -> Result<(), Error> {
    shape::scalar(op, grad.shape())?;
    if grad.dtype() == DType::F32 {
        return Ok(());
    }
    Err(mismatch(op, &[grad], "an f32 gradient, as the scalar is f32"))
}

/// Holds a gradient to the shape and element type of what it is the gradient of.
pub(super) fn grad(op: Op, grad: &Tensor, of: &Like) -> Result<(), Error> {
    shape::same(op, grad.shape(), &of.shape)?;
    if grad.dtype() == of.dtype {
        return Ok(());
    }
    let found = vec![grad.dtype(), of.dtype];
    let expected = "a gradient of the result's type";
    Err(binade_cpu::Error::DType { op: op.name(), found, expected }.into())
}

fn mismatch(op: Op, tensors: &[&Tensor], expected: &'static str) -> Error {
    let found = tensors.iter().map(|tensor| tensor.dtype()).collect();
    binade_cpu::Error::DType { op: op.name(), found, expected }.into()
}

/// What the CPU cannot fill it cannot fill without elements either.
pub(super) fn storable(like: &Like) -> Result<(), Error> {
    binade_cpu::Cpu.fill(0.0, &[0], like.dtype)?;
    Ok(())
}
