//! Checks of operands, and values that are read on the host.

use crate::{Error, Tensor};
use binade_core::{DType, Op};
use binade_ops::{DTypeError, Operand, operands};

pub(super) use binade_ops::operands::{all_f32, float, grad, norm};

impl Operand for Tensor {
    fn dtype(&self) -> DType {
        self.dtype()
    }

    fn shape(&self) -> &[usize] {
        self.shape()
    }
}

/// Returns the elements of an i64 operand, all of which must lie in `0..limit`.
pub(super) fn indices(op: Op, tensor: &Tensor, limit: usize) -> Result<Vec<usize>, Error> {
    let indices = integers(op, tensor)?.iter().enumerate();
    let checked = indices.map(|(position, &index)| {
        let inside = usize::try_from(index).ok().filter(|i| *i < limit);
        inside.ok_or_else(|| Error::Index { op: op.name(), index, position, limit })
    });
    checked.collect()
}

/// Returns seed and counter of a key `[2]`.
pub(super) fn key(op: Op, tensor: &Tensor) -> Result<[u64; 2], Error> {
    match integers(op, tensor)? {
        &[seed, counter] => Ok([seed.cast_unsigned(), counter.cast_unsigned()]),
        _ => Err(unlike(op, tensor, "a key of two i64")),
    }
}

/// Returns the value of a scalar's gradient.
pub(super) fn scalar_grad(op: Op, grad: &Tensor) -> Result<f32, Error> {
    operands::scalar_grad(op, grad)?;
    match grad.as_slice::<f32>() {
        Some(&[value]) => Ok(value),
        _ => Err(unlike(op, grad, "an f32 scalar")),
    }
}

fn integers(op: Op, tensor: &Tensor) -> Result<&[i64], Error> {
    operands::integers(op, tensor)?;
    tensor.as_slice().ok_or_else(|| unlike(op, tensor, "i64"))
}

fn unlike(op: Op, tensor: &Tensor, expected: &'static str) -> Error {
    DTypeError { op: op.name(), found: vec![tensor.dtype()], expected }.into()
}
