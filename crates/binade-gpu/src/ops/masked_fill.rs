//! Replacement of masked elements by one value.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::OpInvocation;

/// Driver with a kernel that fills masked elements.
pub trait MaskedFillKernels: Driver {
    /// Copies the elements of `input`, which is not empty, to `result`, with `value` where `mask` is not 0. The mask is repeated over the input.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_masked_fill(
        &self,
        input: &Tensor<Self>,
        mask: &Tensor<Self>,
        value: f32,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;
}

impl<D: MaskedFillKernels> binade_core::ops::MaskedFill for Gpu<'_, D> {
    fn masked_fill(&self, input: &Tensor<D>, mask: &Tensor<D>, value: f32) -> Result<Tensor<D>, D> {
        let call = OpInvocation::MaskedFill { value };
        let TensorSpec { dtype, shape } = check(self.0, &call, &[input, mask])?;
        let result = self.0.unset(dtype, &shape)?;
        if !result.is_empty() {
            self.0.launch_masked_fill(input, mask, value, &result)?;
        }
        Ok(result)
    }
}
