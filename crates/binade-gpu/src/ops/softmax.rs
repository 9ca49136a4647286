//! Softmax.

use super::rows::{RowKernels, by_row};
use crate::{Result, Tensor};
use binade_core::Op;

pub fn softmax<D: RowKernels>(device: &D, input: &Tensor<D>) -> Result<Tensor<D>, D> {
    by_row(device, Op::SOFTMAX, "softmax", &[input])
}

pub fn softmax_backward<D: RowKernels>(
    device: &D,
    grad: &Tensor<D>,
    output: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    by_row(device, Op::SOFTMAX, "softmax_backward", &[grad, output])
}
