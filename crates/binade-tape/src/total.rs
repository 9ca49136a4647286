//! Gradient of a value that is used several times.

use crate::Device;
use binade_autocast::Autocast;
use binade_core::DType;
use binade_ops::Add;
use std::borrow::Cow;

/// Gradients that have arrived at a value so far: a single one as it came, or the sum of several, in `f32` and not yet rounded.
pub(crate) struct Total<D: Device>(D::Tensor);

impl<D: Device> Total<D> {
    /// Starts with the first gradient of a value.
    pub(crate) fn new(grad: D::Tensor) -> Self {
        Self(grad)
    }

    /// Adds another gradient, in `f32`.
    pub(crate) fn plus(self, device: &D, grad: &D::Tensor) -> Result<Self, D::Error> {
        let (sum, grad) = (cast(device, &self.0, DType::F32)?, cast(device, grad, DType::F32)?);
        Ok(Self(Add::add(device, &sum, &grad)?))
    }

    /// Returns the sum in `dtype`, rounded once.
    pub(crate) fn rounded(&self, device: &D, dtype: DType) -> Result<D::Tensor, D::Error> {
        cast(device, &self.0, dtype).map(Cow::into_owned)
    }
}

fn cast<'t, D: Autocast>(
    device: &D,
    tensor: &'t D::Tensor,
    to: DType,
) -> Result<Cow<'t, D::Tensor>, D::Error> {
    Ok(if device.dtype(tensor) == to {
        Cow::Borrowed(tensor)
    } else {
        Cow::Owned(device.cast(tensor, to)?)
    })
}
