//! Logarithm of softmax.

use super::rows::{RowKernels, by_row};
use crate::{Result, Tensor};
use binade_core::Op;

pub fn log_softmax<D: RowKernels>(device: &D, input: &Tensor<D>) -> Result<Tensor<D>, D> {
    by_row(device, Op::LOG_SOFTMAX, "log_softmax", &[input])
}

pub fn log_softmax_backward<D: RowKernels>(
    device: &D,
    grad: &Tensor<D>,
    output: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    by_row(device, Op::LOG_SOFTMAX, "log_softmax_backward", &[grad, output])
}
