//! Operands: their creation, their extents, checks, and values that are read on the host.

use crate::{Cpu, Error, Tensor};
use binade_core::ops::{DTypeError, Download, OpInvocation, Shaped, Upload};
use binade_core::{DType, Op, TensorSpec};

impl Shaped for Cpu {
    fn shape(&self, tensor: &Tensor) -> Vec<usize> {
        tensor.shape().to_vec()
    }
}

impl Upload for Cpu {
    fn upload(&self, values: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        Tensor::from_f32(values.to_vec(), shape, dtype)
    }

    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Tensor, Error> {
        Tensor::new(values.to_vec(), shape)
    }
}

impl Download for Cpu {
    fn download(&self, tensor: &Tensor) -> Result<Vec<f32>, Error> {
        Ok(tensor.to_f32().into_owned())
    }
}

/// Checks the operands of a call, and returns the type and shape of its first result.
pub(super) fn check(call: &OpInvocation, operands: &[&Tensor]) -> Result<TensorSpec, Error> {
    let operands: Vec<_> = operands.iter().map(|it| (it.dtype(), it.shape())).collect();
    Ok(call.check(&operands)?)
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

/// Returns the value of a scalar's gradient that has been checked.
pub(super) fn scalar_grad(op: Op, grad: &Tensor) -> Result<f32, Error> {
    match grad.as_slice::<f32>() {
        Some(&[value]) => Ok(value),
        _ => Err(unlike(op, grad, "an f32 scalar")),
    }
}

fn integers(op: Op, tensor: &Tensor) -> Result<&[i64], Error> {
    tensor.as_slice().ok_or_else(|| unlike(op, tensor, "i64"))
}

fn unlike(op: Op, tensor: &Tensor, expected: &'static str) -> Error {
    DTypeError { op: op.name(), found: vec![tensor.dtype()], expected }.into()
}
