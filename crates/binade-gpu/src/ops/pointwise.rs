//! Kernels that go through the elements one by one.

use super::check;
use crate::{Driver, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::OpInvocation;

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

/// Applies the kernel of a method to operands of one shape and element type. The result is like them.
pub(super) fn pointwise<D: PointwiseKernels>(
    device: &D,
    call: &OpInvocation,
    operands: &[&Tensor<D>],
) -> Result<Tensor<D>, D> {
    let TensorSpec { dtype, shape } = check(device, call, operands)?;
    let result = device.unset(dtype, &shape)?;
    // `tanh` alone is a function of C and of WGSL.
    let kernel = if *call == OpInvocation::Tanh { "tanh_forward" } else { call.method() };
    device.launch_each(kernel, operands, &result)?;
    Ok(result)
}
