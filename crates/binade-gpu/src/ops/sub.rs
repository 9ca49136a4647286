//! Elementwise difference.

use super::pointwise::{PointwiseKernels, pointwise};
use crate::{Gpu, Result, Tensor};
use binade_core::ops::OpInvocation;

impl<D: PointwiseKernels> binade_core::ops::Sub for Gpu<'_, D> {
    fn sub(&self, a: &Tensor<D>, b: &Tensor<D>) -> Result<Tensor<D>, D> {
        pointwise(self.0, &OpInvocation::Sub, &[a, b])
    }

    fn sub_backward(&self, grad: &Tensor<D>) -> Result<[Tensor<D>; 2], D> {
        let opposite = pointwise(self.0, &OpInvocation::SubBackward, &[grad])?;
        Ok([grad.clone(), opposite])
    }
}
