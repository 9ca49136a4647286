//! The second half of the order: gradients in the loss's own units.

use super::pending::{Origin, Part, StepRecord};
use super::scaled::Shared;
use crate::{ClipGroup, GradOps, GradScaler, Norm, PendingStep};
use binade_core::Optimizer;
use std::sync::Arc;

/// Unscaled gradients, which can be inspected, clipped, accumulated and applied.
#[must_use = "unscaled gradients are for an optimizer"]
pub struct UnscaledGrads<D: GradScaler> {
    pub(crate) grads: D::Grads,
    /// Found-inf results of the passes; empty while the verdict is the result of a single pass, so that clipping writes to it in place.
    pub(crate) parts: Vec<Part<D>>,
    pub(crate) verdict: D::Found,
    /// True if the norm in the verdict is that of these gradients, not that of a window's first micro-batch.
    measured: bool,
    pub(crate) name: String,
    pub(crate) shared: Arc<Shared<D>>,
    /// The scale that the gradients, or the last of them, were made with.
    pub(crate) of: Origin,
}

impl<D: GradScaler> UnscaledGrads<D> {
    pub(crate) fn new(
        grads: D::Grads,
        verdict: D::Found,
        shared: Arc<Shared<D>>,
        of: Origin,
    ) -> Self {
        let (parts, name) = (Vec::new(), String::new());
        Self { grads, parts, verdict, measured: false, name, shared, of }
    }

    /// Names the step in reports; worth it with several optimizers.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Returns the gradients as the device holds them. A lazy device has not divided them yet: ask it for their values.
    pub fn grads(&self) -> &D::Grads {
        &self.grads
    }

    /// Applies the gradients, or leaves everything as it was if any of them overflowed.
    ///
    /// # Errors
    ///
    /// The optimizer's errors, as the device's.
    ///
    /// # Steps that evaluate their loss again
    ///
    /// L-BFGS and line searches call a closure inside the step: forward, backward, a loss. Its gradients would come scaled, and with no verdict on
    /// them, in the middle of a step that was decided on others; and between two evaluations the scale would have to move for an overflow to end.
    /// torch raises "Closure use is not currently supported" for one given by name, and does not see one given by place. Here a step takes no
    /// closure: [`Optimizer::step`] takes gradients and a verdict.
    ///
    /// Such an optimizer takes one iteration for each evaluation: it keeps its search direction between steps, receives the gradients of one
    /// evaluation each time, and decides whether to change the parameters. Bindings refuse a closure.
    ///
    /// ## A closure for the optimizer
    ///
    /// Evaluating again is another iteration.
    ///
    #[doc = order!(
        "for _evaluation in 0..2 {"
        "    let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
        "    let step = grads.step(&mut optimizer)?;"
        "    scaler.update(step)?.ignore();"
        "}",
        "compile_fail,E0061":
        "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
        "let step = grads.step(&mut optimizer, || scaler.scale(&loss)?.backward(backward))?;"
        "scaler.update(step)?.ignore();",
    )]
    pub fn step<O>(self, optimizer: &mut O) -> Result<PendingStep<D>, D::Error>
    where
        O: Optimizer<D::Grads, D::Found> + ?Sized,
        D::Error: From<O::Error>,
    {
        let unlisted = optimizer.unlisted(&self.grads);
        optimizer.step(self.grads, &self.verdict)?;
        Ok(PendingStep::new(StepRecord {
            name: self.name,
            of: self.of,
            parts: self.parts,
            verdict: self.verdict,
            unlisted,
            measured: self.measured,
            settled: false,
            iterations: self.shared.iterations.clone(),
        }))
    }
}

impl<D: GradOps> UnscaledGrads<D> {
    /// Scales the gradients down so that their global L2 norm is at most `max`. The report has the norm.
    ///
    /// The norm is of the gradients in this set: ranks clip alike where they hold the same gradients, such as averages.
    ///
    /// # Errors
    ///
    /// When the device fails, or `max` is not a positive number.
    pub fn clip_norm(self, max: f32) -> Result<Self, D::Error> {
        self.clip(Norm::L2, max)
    }

    /// Scales the gradients down so that the largest |element| of all is at most `max`, keeping their direction.
    ///
    /// # Errors
    ///
    /// When the device fails, or `max` is not a positive number.
    pub fn clip_inf_norm(self, max: f32) -> Result<Self, D::Error> {
        self.clip(Norm::Infinity, max)
    }

    /// Limits every element to `[-max, max]`, which may change the gradients' direction.
    ///
    /// # Errors
    ///
    /// When the device fails, or `max` is not a positive number.
    pub fn clip_value(mut self, max: f32) -> Result<Self, D::Error> {
        self.shared.device.clip_value(&mut self.grads, max)?;
        Ok(self)
    }

    /// Scales each group's gradients down so that the group's own norm is at most its limit; parameters in no group are unchanged. Like every clip,
    /// it measures the gradients after earlier clips.
    ///
    /// The report has a group's norm only if it is not finite, which skips the step; `norm` stays what [`clip_norm`](Self::clip_norm) measured, if
    /// that was called. As there, norms are those of the gradients in this set.
    ///
    /// # Errors
    ///
    /// When the device fails or has no [`GradOps::clip_groups`], a limit is not a positive number, two groups name one
    /// parameter, or a name is not among the gradients'; then nothing was clipped.
    pub fn clip_groups(mut self, groups: &[ClipGroup]) -> Result<Self, D::Error> {
        self.shared.device.clip_groups(&mut self.grads, groups, &mut self.verdict)?;
        Ok(self)
    }

    fn clip(mut self, norm: Norm, max: f32) -> Result<Self, D::Error> {
        self.shared.device.clip_norm(&mut self.grads, norm, max, &mut self.verdict)?;
        self.measured = true;
        Ok(self)
    }
}
