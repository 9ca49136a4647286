//! Reordering of axes.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::{OpInvocation, shape::Permutation};

/// Driver with a kernel that reorders axes.
pub trait PermuteKernels: Driver {
    /// Copies each element of `input` to its position in `result`, which is not empty. `axes` has the axes of the result.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_permute(
        &self,
        input: &Tensor<Self>,
        axes: &Permutation,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;
}

impl<D: PermuteKernels> binade_core::ops::Permute for Gpu<'_, D> {
    fn permute(&self, input: &Tensor<D>, axes: &[usize]) -> Result<Tensor<D>, D> {
        let call = OpInvocation::Permute { axes: axes.to_vec() };
        let TensorSpec { dtype, shape } = check(self.0, &call, &[input])?;
        let permutation = Permutation::new(input.shape(), axes);
        if permutation.keeps_order() {
            return input.reshape(&shape);
        }
        let result = self.0.unset(dtype, &shape)?;
        self.0.launch_permute(input, &permutation, &result)?;
        Ok(result)
    }
}
