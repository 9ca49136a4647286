//! Passes of a convolution, and the code that computes them.

use super::backends::ConvolutionsBackend;
use crate::{Cuda, Error};

/// Convolution, or one of its gradients.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Pass {
    Forward,
    OfInput,
    OfWeight,
}

impl Cuda {
    /// Returns the code that computes convolutions, with its version, to be written beside results. Looks for cuDNN if no call
    /// has yet and the backend is built with the feature `cudnn`.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub fn convolutions(&self) -> Result<ConvolutionsBackend, Error> {
        self.who_convolves()
    }
}
