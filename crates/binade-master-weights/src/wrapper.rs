//! Runs an optimizer of the user's own, which gets unscaled gradients in `f32`.

use binade_core::{GradSet, NamedGrads, NoGradients, Optimizer};
use std::fmt;

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
    D: GradSet,
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
    D: GradSet,
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
            return Err(self.device.train_error(NoGradients { parameters: grads.len() }.into()));
        }
        (self.apply)(grads)
    }
}

impl<D, F> fmt::Debug for HostOptimizer<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostOptimizer").field("skipped", &self.skipped).finish_non_exhaustive()
    }
}
