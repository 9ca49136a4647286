//! Elementwise kernels.

use super::check;
use crate::{Driver, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::OpInvocation;

/// Driver with elementwise kernels.
pub trait PointwiseKernels: Driver {
    /// Computes `result` by a kernel from operands with the same shape and element type.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
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
    /// Returns [`Unsupported`](crate::Error::Unsupported) for an element type without kernels, and an error if the device fails.
    fn launch_fill(&self, value: f32, result: &Tensor<Self>) -> Result<(), Self>;

    /// Computes the last tensor by dropout. Elements of the first whose random word, by the key in the second, is at least `threshold` are multiplied
    /// by `factor`; the others become 0.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_dropout(
        &self,
        tensors: [&Tensor<Self>; 3],
        threshold: u64,
        factor: f32,
    ) -> Result<(), Self>;
}

/// Applies the kernel of a method to operands with the same shape and element type, which the result has too.
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

/// Returns the kernel of a method. It has the method's name, unless that is a function of C and of WGSL.
const fn kernel_of(call: &OpInvocation) -> &'static str {
    match call {
        OpInvocation::Div => "div_forward",
        OpInvocation::Exp => "exp_forward",
        OpInvocation::Sqrt => "sqrt_forward",
        OpInvocation::Tanh => "tanh_forward",
        _ => call.method(),
    }
}
