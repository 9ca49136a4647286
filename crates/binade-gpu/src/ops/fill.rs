//! Tensors of one value.

use super::{PointwiseKernels, check};
use crate::{Gpu, Result, Tensor};
use binade_core::DType;
use binade_core::ops::OpInvocation;

impl<D: PointwiseKernels> binade_core::ops::Fill for Gpu<'_, D> {
    fn fill(&self, value: f32, shape: &[usize], dtype: DType) -> Result<Tensor<D>, D> {
        let call = OpInvocation::Fill { value, shape: shape.to_vec(), dtype };
        let result = self.0.unset(dtype, &check(self.0, &call, &[])?.shape)?;
        self.0.launch_fill(value, &result)?;
        Ok(result)
    }
}
