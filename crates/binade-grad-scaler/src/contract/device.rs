//! The trait of a device that unscales gradients.

use crate::ScaleStore;

/// Device that unscales gradients and checks that they are finite.
///
/// A device implements this; a training loop holds a [`Scaler`](crate::Scaler). Losses are scaled by [`Loss`](crate::Loss).
///
/// # For implementers
///
/// * `unscale` looks at every gradient as it was made and as it will be once divided by `scale`, in `f32`, and raises
///   `Found` for a value that is not finite in either form. It tells the first in set order, counts infinities and
///   NaNs, takes the largest finite |scaled gradient|, and lists each trainable parameter that has no gradient.
/// * `unscale` divides now, or leaves that to the step; whoever looks at the values gets them divided, in `f32`. `f16`
///   is never unscaled into `f16`, or what scaling rescued is lost again; where the set cannot hold `f32`, the error
///   is `Unsupported`.
/// * `unscale` raises `Found` (as halted) where `scale` has diverged.
/// * An empty set is a finding that is not raised.
///
/// # Examples
///
/// A device whose gradients are one array, and whose findings are values of the host:
///
/// ```
/// use binade_core::{FoundInf, GradSet, Handle, TrainError};
/// use binade_grad_scaler::{GradScaler, Loss, LossScale, ScaleState, Scaler};
///
/// struct Host;
///
/// impl Handle for Host {
///     type Tensor = f32;
///     type Error = TrainError;
/// }
///
/// impl GradSet for Host {
///     type Params = Vec<f32>;
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
///     fn scaled(&self, _: &Host, scale: &ScaleState) -> Result<f32, TrainError> {
///         Ok(self * scale.factor())
///     }
///
///     fn unscaled(&self, _: &Host, scale: &ScaleState) -> Result<f32, TrainError> {
///         Ok(self * scale.inverse())
///     }
/// }
///
/// impl GradScaler for Host {
///     fn unscale(&self, grads: &mut Vec<f32>, scale: &ScaleState) -> Result<FoundInf, TrainError> {
///         let mut found = FoundInf { halted: scale.diverged, ..FoundInf::default() };
///         for (index, grad) in grads.iter_mut().enumerate() {
///             let scaled = *grad;
///             *grad *= scale.inverse();
///             found.check(&"weight".into(), index as u64, scaled, *grad);
///         }
///         Ok(found)
///     }
/// }
///
/// let scaler = Scaler::new(Host, LossScale::dynamic())?;
/// let grads = scaler.scale(&0.5)?.backward(|loss| Ok(vec![2.0 * loss]))?.unscale()?;
/// assert_eq!(grads.grads(), &[1.0]);
/// # Ok::<(), TrainError>(())
/// ```
pub trait GradScaler: ScaleStore {
    /// Checks every gradient in one pass, divides them by `scale` now or later, and returns the found-inf result.
    ///
    /// # Errors
    ///
    /// When the device fails. An overflow is a found-inf result, not an error.
    fn unscale(
        &self,
        grads: &mut Self::Grads,
        scale: &Self::Scale,
    ) -> Result<Self::Found, Self::Error>;
}
