//! Elementwise sum.

use super::{
    check,
    pointwise::{PointwiseKernels, pointwise},
};
use crate::{Gpu, Result, Tensor};
use binade_core::ops::OpInvocation;

impl<D: PointwiseKernels> binade_core::ops::Add for Gpu<'_, D> {
    fn add(&self, a: &Tensor<D>, b: &Tensor<D>) -> Result<Tensor<D>, D> {
        pointwise(self.0, &OpInvocation::Add, &[a, b])
    }

    fn add_backward(&self, grad: &Tensor<D>) -> Result<[Tensor<D>; 2], D> {
        check(self.0, &OpInvocation::AddBackward, &[grad])?;
        Ok([grad.clone(), grad.clone()])
    }
}
