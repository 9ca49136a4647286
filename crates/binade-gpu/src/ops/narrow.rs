//! Part of a tensor along one axis.

use super::{PointwiseKernels, check};
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::{OpInvocation, shape::Part};

/// Driver with kernels that copy from or to a part of a tensor.
pub trait NarrowKernels: Driver {
    /// Copies `part` of `whole`, which is not empty, to `result`.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_narrow(
        &self,
        whole: &Tensor<Self>,
        part: &Part,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Copies `piece`, which is not empty, to `part` of `whole`. The other elements of `whole` stay unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_narrow_backward(
        &self,
        piece: &Tensor<Self>,
        part: &Part,
        whole: &Tensor<Self>,
    ) -> Result<(), Self>;
}

impl<D: NarrowKernels + PointwiseKernels> binade_core::ops::Narrow for Gpu<'_, D> {
    /// Shares the input's memory if the part is one line.
    fn narrow(
        &self,
        input: &Tensor<D>,
        axis: usize,
        start: usize,
        len: usize,
    ) -> Result<Tensor<D>, D> {
        let call = OpInvocation::Narrow { axis, start, len };
        let TensorSpec { dtype, shape } = check(self.0, &call, &[input])?;
        let part = Part::new(input.shape(), axis, start, len);
        if part.lines == 1 {
            return input.slice(part.first, part.len)?.reshape(&shape);
        }
        let result = self.0.unset(dtype, &shape)?;
        if !part.is_empty() {
            self.0.launch_narrow(input, &part, &result)?;
        }
        Ok(result)
    }

    fn narrow_backward(
        &self,
        grad: &Tensor<D>,
        shape: &[usize],
        axis: usize,
        start: usize,
    ) -> Result<Tensor<D>, D> {
        let call = OpInvocation::NarrowBackward { shape: shape.to_vec(), axis, start };
        let TensorSpec { dtype, shape } = check(self.0, &call, &[grad])?;
        let result = self.0.unset(dtype, &shape)?;
        self.0.launch_fill(0.0, &result)?;
        let part = Part::new(&shape, axis, start, grad.shape()[axis]);
        if !part.is_empty() {
            self.0.launch_narrow_backward(grad, &part, &result)?;
        }
        Ok(result)
    }
}
