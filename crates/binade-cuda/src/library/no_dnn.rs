//! Backend without the feature `cudnn`: kernels compute all convolutions.

use super::{backends::ConvolutionsBackend, convolutions::Pass};
use crate::{Cuda, Error, Tensor};
use binade_ops::Conv2dConfig;

#[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as they are with the feature")]
impl Cuda {
    pub(super) fn who_convolves(&self) -> Result<ConvolutionsBackend, Error> {
        Ok(ConvolutionsBackend::Own { why: "built without the feature `cudnn`".into() })
    }

    /// Returns `false`: a kernel computes the convolution.
    pub(crate) fn convolves(
        &self,
        _pass: Pass,
        _operands: [&Tensor; 3],
        _config: Conv2dConfig,
    ) -> Result<bool, Error> {
        Ok(false)
    }
}
