//! Runs an optimizer of the user's own, which gets unscaled gradients in `f32`.

use binade_core::{GradSet, NamedGrads, NoGradients, Optimizer};
use std::fmt;

/// A device that can show unscaled gradients and their verdict to code that expects plain tensors.
///
/// # For implementers
///
/// * `materialise` gives `f32` tensors that are unscaled and clipped.
/// * `is_raised` waits for the device: this is the price of an optimizer that cannot be predicated.
pub trait Materialise: GradSet {
    /// Reads whether the step must be skipped.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn is_raised(&self, found: &Self::Found) -> Result<bool, Self::Error>;

    /// Plain tensors by parameter name, in `f32`.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn materialise(&self, grads: Self::Grads) -> Result<NamedGrads<Self::Tensor>, Self::Error>;

    /// The device's error for a step without gradients.
    fn no_gradients(&self, error: NoGradients) -> Self::Error;
}

/// An optimizer of the user's own, given gradients in `f32` when they are fit to be applied.
///
/// Each step reads one flag from the device, so that a skipped step never reaches the optimizer. A fused, predicated
/// optimizer ([`MasterOptimizer`](crate::MasterOptimizer)) reads nothing.
///
/// A set without any gradient is [`NoGradients`] and does not reach the optimizer either.
///
/// It keeps no master weights. What `apply` updates should be stored in `f32`: in sixteen bits small updates are lost.
/// The counterpart of Apex's `FP16_Optimizer`, which keeps masters, is [`MasterOptimizer`](crate::MasterOptimizer).
pub struct HostOptimizer<D, F> {
    device: D,
    apply: F,
    skipped: u64,
}

impl<D, F> HostOptimizer<D, F>
where
    D: Materialise,
    F: FnMut(NamedGrads<D::Tensor>) -> Result<(), D::Error>,
{
    /// Calls `apply` with the gradients of each step that is not skipped.
    pub fn new(device: D, apply: F) -> Self {
        Self { device, apply, skipped: 0 }
    }

    /// Steps that never reached the optimizer.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }
}

impl<D, F> Optimizer<D::Grads, D::Found> for HostOptimizer<D, F>
where
    D: Materialise,
    F: FnMut(NamedGrads<D::Tensor>) -> Result<(), D::Error>,
{
    type Error = D::Error;

    fn step(&mut self, grads: D::Grads, found: &D::Found) -> Result<(), D::Error> {
        if self.device.is_raised(found)? {
            self.skipped += 1;
            return Ok(());
        }
        let grads = self.device.materialise(grads)?;
        if !grads.is_empty() && grads.iter().all(|grad| grad.value.is_none()) {
            return Err(self.device.no_gradients(NoGradients { parameters: grads.len() }));
        }
        (self.apply)(grads)
    }
}

impl<D, F> fmt::Debug for HostOptimizer<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostOptimizer").field("skipped", &self.skipped).finish_non_exhaustive()
    }
}
