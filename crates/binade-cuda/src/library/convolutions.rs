//! What a convolution is to whoever computes it, and who does.

use super::which::ConvolutionsBy;
use crate::{Cuda, Error};

/// A convolution, or one of its gradients.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Pass {
    Forward,
    OfInput,
    OfWeight,
}

impl Cuda {
    /// What computes convolutions, and of which version: as to be written beside results. Looks for cuDNN, if nobody has
    /// yet and the backend is built with the feature `cudnn`.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn convolutions(&self) -> Result<ConvolutionsBy, Error> {
        self.who_convolves()
    }
}
