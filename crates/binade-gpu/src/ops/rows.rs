//! Kernels on the rows of the last axis.

use super::check;
use crate::{Driver, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::OpInvocation;

/// Driver with kernels on the rows of the last axis.
pub trait RowKernels: Driver {
    /// Computes each row of `result` by a kernel from the same row of operands with the same shape and element type. There is at least one element.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_rows(
        &self,
        kernel: &'static str,
        operands: &[&Tensor<Self>],
        result: &Tensor<Self>,
    ) -> Result<(), Self>;
}

/// Applies the kernel of a method to each row of operands with the same shape and element type, which the result has too.
pub(super) fn by_row<D: RowKernels>(
    device: &D,
    call: &OpInvocation,
    operands: &[&Tensor<D>],
) -> Result<Tensor<D>, D> {
    let TensorSpec { dtype, shape } = check(device, call, operands)?;
    let result = device.unset(dtype, &shape)?;
    if !result.is_empty() {
        device.launch_rows(call.method(), operands, &result)?;
    }
    Ok(result)
}
