//! Contract of a device that exchanges tensors, findings and norms with others of its kind, in one process.

use crate::{GradOps, Norm};

/// Device that can exchange values with others of its kind, which train one model, each with its own parameters.
///
/// # For implementers
///
/// * `copy_from` copies every bit, and keeps the element type and the shape. A change of either tensor leaves the other as it was.
/// * `found_from` is read as the original is, but for gradients that a window misses, which the original may know alone.
/// * `clip_norms` clips by one norm, of the gradients of all sets together: squares are added in `f64` in the order of the devices. Each verdict
///   records it, and is raised if it is not finite, as [`GradOps::clip_norm`] does.
/// * Nothing waits for a device.
pub trait PeerDevice: GradOps + Sized {
    /// Returns a copy, on this device, of a tensor of `from`.
    ///
    /// # Errors
    ///
    /// If a device fails.
    fn copy_from(&self, tensor: &Self::Tensor, from: &Self) -> Result<Self::Tensor, Self::Error>;

    /// Returns a copy, on this device, of a found-inf result of `from`.
    ///
    /// # Errors
    ///
    /// If a device fails, or the two devices do not name parameters alike.
    fn found_from(&self, found: &Self::Found, from: &Self) -> Result<Self::Found, Self::Error>;

    /// Returns true if some parameter of the set has a gradient, or may have one that the host does not know of.
    fn has_gradients(&self, grads: &Self::Grads) -> bool;

    /// Clips the sets of `devices`, one each, by the norm of all gradients together. There are as many sets and verdicts as devices.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a `max` that is not a positive number; nothing has changed then. If a device fails.
    fn clip_norms(
        devices: &[Self],
        grads: &mut [Self::Grads],
        limit: (Norm, f32),
        verdicts: &mut [Self::Found],
    ) -> Result<(), Self::Error>;
}
