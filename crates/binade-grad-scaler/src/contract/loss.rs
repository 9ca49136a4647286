//! Losses that a scaler can scale: a device's own tensor, a value on a tape, a tensor of another crate.

use crate::ScaleStore;
use binade_core::Error;

/// A loss that can be multiplied by the scale of the device `D`.
///
/// The loss implements it, not the device, since only the loss knows how it is differentiated: a device's tensor is multiplied, and a value on a tape
/// records the product. An adapter implements it for the tensor of another crate, since its own device is in the trait.
///
/// # For implementers
///
/// * `scaled` and `unscaled` multiply in `f32`, give `f32`, and are differentiable where the loss is.
///
/// # Examples
///
/// A number as the loss of host tensors:
///
/// ```
/// use binade_grad_scaler::core::{HostDevice, HostDeviceError, HostTensor, HostTypeError};
/// use binade_grad_scaler::{Loss, ScaleState};
///
/// struct Number(f32);
///
/// impl Loss<HostDevice<HostTensor>> for Number {
///     type Error = HostDeviceError<HostTypeError>;
///
///     fn scaled(&self, _: &HostDevice<HostTensor>, scale: &ScaleState) -> Result<Self, Self::Error> {
///         Ok(Self(self.0 * scale.factor()))
///     }
///
///     fn unscaled(&self, _: &HostDevice<HostTensor>, scale: &ScaleState) -> Result<Self, Self::Error> {
///         Ok(Self(self.0 * scale.inverse()))
///     }
/// }
/// ```
pub trait Loss<D: ScaleStore>: Sized {
    /// The error of scaling, and of a backward pass that starts from the scaled loss.
    type Error: Error + From<D::Error>;

    /// `self * scale`, in `f32`.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn scaled(&self, device: &D, scale: &D::Scale) -> Result<Self, Self::Error>;

    /// `self / scale`, in `f32`, for a gradient that belongs to no optimizer.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn unscaled(&self, device: &D, scale: &D::Scale) -> Result<Self, Self::Error>;
}
