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
    device.launch_each(kernel_of(call), operands, &result)?;
    Ok(result)
}

/// Returns the kernel of a method: its name, unless that is a function of C and of WGSL.
const fn kernel_of(call: &OpInvocation) -> &'static str {
    match call {
        OpInvocation::Div => "div_forward",
        OpInvocation::Exp => "exp_forward",
        OpInvocation::Sqrt => "sqrt_forward",
        OpInvocation::Tanh => "tanh_forward",
        _ => call.method(),
    }
}
