//! Kernels that go through the elements one by one.

use crate::{Driver, Result, Tensor};
use binade_core::Op;
use binade_ops::{operands, shape};

/// Driver with kernels that go through the elements one by one.
pub trait PointwiseKernels: Driver {
    /// Computes `result` by a kernel from operands of its shape and element type.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_each(
        &self,
        kernel: &'static str,
        operands: &[&Tensor<Self>],
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Fills `result` with `value`, rounded once.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::Error::Unsupported) for an element type without kernels; where the device fails.
    fn launch_fill(&self, value: f32, result: &Tensor<Self>) -> Result<(), Self>;

    /// Computes the last tensor: multiplies elements of the first by `factor` whose random words, by the key in the second, are
    /// `threshold` at least, and makes 0 of the others.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_dropout(
        &self,
        tensors: [&Tensor<Self>; 3],
        threshold: u64,
        factor: f32,
    ) -> Result<(), Self>;
}

/// Applies a kernel to operands of one shape and element type. The result is like them.
pub(super) fn pointwise<D: PointwiseKernels>(
    device: &D,
    op: Op,
    kernel: &'static str,
    operands: &[&Tensor<D>],
) -> Result<Tensor<D>, D> {
    device.check_owners(operands)?;
    let shape = one_shape(op, operands)?;
    let result = device
        .unset(operands::float(op, operands.iter().map(|operand| operand.dtype()))?, shape)?;
    device.launch_each(kernel, operands, &result)?;
    Ok(result)
}

/// Returns the shape that all operands have.
pub(super) fn one_shape<'t, D: Driver>(
    op: Op,
    operands: &[&'t Tensor<D>],
) -> Result<&'t [usize], D> {
    let shape = operands.first().map_or(&[][..], |operand| operand.shape());
    for operand in operands {
        shape::same(op, shape, operand.shape())?;
    }
    Ok(shape)
}
