//! Mean of all elements.

use super::total::{Total, TotalKernels, spread, total};
use crate::{Result, Tensor};
use binade_core::{DType, Op};
use binade_ops::operands;

pub fn mean<D: TotalKernels>(device: &D, input: &Tensor<D>) -> Result<Tensor<D>, D> {
    operands::float(Op::MEAN, &[input])?;
    total(device, Total::Mean, &[input])
}

pub fn mean_backward<D: TotalKernels>(
    device: &D,
    grad: &Tensor<D>,
    shape: &[usize],
    dtype: DType,
) -> Result<Tensor<D>, D> {
    spread(device, Total::Mean, Op::MEAN, grad, (shape, dtype))
}
