//! Kernels on the rows of the last axis.

use super::pointwise::one_shape;
use crate::{Driver, Result, Tensor};
use binade_core::Op;
use binade_ops::{operands, shape};

/// Driver with kernels on the rows of the last axis.
pub trait RowKernels: Driver {
    /// Computes each row of `result` by a kernel from the same row of operands of its shape and element type. There is an element.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_rows(
        &self,
        kernel: &'static str,
        operands: &[&Tensor<Self>],
        result: &Tensor<Self>,
    ) -> Result<(), Self>;
}

/// Applies a kernel to each row of operands of one shape and element type. The result is like them.
pub(super) fn by_row<D: RowKernels>(
    device: &D,
    op: Op,
    kernel: &'static str,
    operands: &[&Tensor<D>],
) -> Result<Tensor<D>, D> {
    let shape = shape::softmax(op, one_shape(op, operands)?)?;
    let dtype = operands::float(op, operands.iter().map(|operand| operand.dtype()))?;
    device.check_owners(operands)?;
    let result = device.unset(dtype, &shape)?;
    if !result.is_empty() {
        device.launch_rows(kernel, operands, &result)?;
    }
    Ok(result)
}
