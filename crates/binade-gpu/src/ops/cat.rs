//! Tensors joined along an axis.

use super::{NarrowKernels, check};
use crate::{Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::{OpInvocation, shape::Part};

impl<D: NarrowKernels> binade_core::ops::Cat for Gpu<'_, D> {
    /// Launches a copy for each input.
    fn cat(&self, inputs: &[&Tensor<D>], axis: usize) -> Result<Tensor<D>, D> {
        let TensorSpec { dtype, shape } = check(self.0, &OpInvocation::Cat { axis }, inputs)?;
        let result = self.0.unset(dtype, &shape)?;
        let mut start = 0;
        for input in inputs {
            let extent = input.shape()[axis];
            let part = Part::new(&shape, axis, start, extent);
            if !part.is_empty() {
                self.0.launch_narrow_backward(input, &part, &result)?;
            }
            start += extent;
        }
        Ok(result)
    }
}
