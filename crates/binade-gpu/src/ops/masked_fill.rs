//! One value in the place of masked elements.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::OpInvocation;

/// Driver with a kernel that fills masked elements.
pub trait MaskedFillKernels: Driver {
    /// Copies the elements of `input`, of which there is one, to `result`, and stores `value` where `mask`, again and again, is not 0.
    ///
    /// # Errors
    ///
    /// Where the device fails.
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
