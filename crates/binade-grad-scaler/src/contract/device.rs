//! The trait of a device that unscales gradients.

use crate::ScaleStore;

/// Unscales gradients and looks for what is not finite.
///
/// This is the device's side; what a training loop holds is a [`Scaler`](crate::Scaler). Losses are scaled by [`Loss`](crate::Loss).
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
pub trait GradScaler: ScaleStore {
    /// Looks at every gradient in one pass, divides them by `scale` now or later, and tells what it found.
    ///
    /// # Errors
    ///
    /// When the device fails. An overflow is a finding, not an error.
    fn unscale(
        &self,
        grads: &mut Self::Grads,
        scale: &Self::Scale,
    ) -> Result<Self::Found, Self::Error>;
}
