//! Sum of all elements.

use super::total::{Total, TotalKernels, spread, total};
use crate::{Result, Tensor};
use binade_core::{DType, Op};
use binade_ops::operands;

pub fn sum<D: TotalKernels>(device: &D, input: &Tensor<D>) -> Result<Tensor<D>, D> {
    operands::float(Op::SUM, &[input])?;
    total(device, Total::Sum, &[input])
}

pub fn sum_backward<D: TotalKernels>(
    device: &D,
    grad: &Tensor<D>,
    shape: &[usize],
    dtype: DType,
) -> Result<Tensor<D>, D> {
    spread(device, Total::Sum, Op::SUM, grad, (shape, dtype))
}
