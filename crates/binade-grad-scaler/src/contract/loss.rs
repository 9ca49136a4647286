//! Losses that a scaler can scale: a device's own tensor, a value on a tape, a tensor of another crate.

use crate::ScaleStore;
use binade_core::Error;

/// A loss that can be multiplied by the scale of the device `D`.
///
/// It belongs to the loss and not to the device, since only the loss knows how it is differentiated: a device's own tensor is
/// multiplied, and a value on a tape records the product. An adapter implements it for the tensor of another crate, since its
/// own device is in the trait.
///
/// # For implementers
///
/// * `scaled` and `unscaled` multiply in `f32`, give `f32`, and are differentiable where the loss is.
///
/// # Examples
///
/// A number as the loss of a device that keeps its scale on the host:
///
/// ```
/// use binade_grad_scaler::core::{FoundInf, GradSet, Handle, TrainError};
/// use binade_grad_scaler::{Loss, ScaleState};
///
/// struct Host;
///
/// impl Handle for Host {
///     type Tensor = f32;
///     type Error = TrainError;
/// }
///
/// impl GradSet for Host {
///     type Params = ();
///     type Grads = Vec<f32>;
///     type Found = FoundInf;
///
///     fn train_error(&self, error: TrainError) -> TrainError {
///         error
///     }
/// }
///
/// impl Loss<Host> for f32 {
///     type Error = TrainError;
///
///     fn scaled(&self, _: &Host, scale: &ScaleState) -> Result<Self, TrainError> {
///         Ok(self * scale.factor())
///     }
///
///     fn unscaled(&self, _: &Host, scale: &ScaleState) -> Result<Self, TrainError> {
///         Ok(self * scale.inverse())
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
