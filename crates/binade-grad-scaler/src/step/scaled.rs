//! The first half of the order: a scaled loss, and what is differentiated from it.

use super::iterations::Origin;
use super::shared::Shared;
use crate::{GradScaler, Loss, ScaleState, UnscaledGrads};
use std::sync::Arc;

/// A loss times the scale, with the scale it was multiplied by.
#[must_use = "a scaled loss is for backward"]
pub struct ScaledLoss<D: GradScaler, L> {
    loss: L,
    scale: D::Scale,
    shared: Arc<Shared<D>>,
    of: Origin,
}

impl<D: GradScaler, L: Loss<D>> ScaledLoss<D, L> {
    pub(crate) fn new(loss: L, scale: D::Scale, shared: Arc<Shared<D>>) -> Self {
        let of = shared.iterations.now();
        Self { loss, scale, shared, of }
    }

    /// Runs the framework's backward pass on the scaled loss. The loss is consumed: its gradients enter once.
    ///
    /// `run` differentiates the loss that it is given, and no other: what it captures is not scaled.
    /// [`Scaler::verify_backward`](crate::Scaler::verify_backward) checks that. It gives a set of its own each time: there is nothing to
    /// set to zero in between.
    ///
    /// # Errors
    ///
    /// Those of `run`.
    #[doc(alias = "zero_grad")]
    pub fn backward<F>(self, run: F) -> Result<ScaledGrads<D>, L::Error>
    where
        F: FnOnce(&L) -> Result<D::Grads, L::Error>,
    {
        self.try_backward(run)
    }

    /// Runs a backward pass whose error is not the loss's, as [`backward`](Self::backward) otherwise.
    ///
    /// A closure that uses `?` says which error it returns: `Ok::<_, MyError>(grads)`.
    ///
    /// # Errors
    ///
    /// The errors of `run`, as they are.
    pub fn try_backward<F, E>(self, run: F) -> Result<ScaledGrads<D>, E>
    where
        F: FnOnce(&L) -> Result<D::Grads, E>,
    {
        let Self { loss, scale, shared, of } = self;
        Ok(ScaledGrads::new(run(&loss)?, scale, shared, of))
    }

    /// Returns a gradient that belongs to no optimizer, as a gradient penalty needs one, divided by the scale. Nothing is checked: what
    /// it overflows shows up in the loss made of it.
    ///
    /// # Errors
    ///
    /// The errors of `run`, and of a device that fails.
    pub fn grad<F>(&self, run: F) -> Result<L, L::Error>
    where
        F: FnOnce(&L) -> Result<L, L::Error>,
    {
        run(&self.loss)?.unscaled(&self.shared.device, &self.scale)
    }
}

impl<D: GradScaler<Scale = ScaleState>, L> ScaledLoss<D, L> {
    /// Returns the number that the loss was multiplied by, for frameworks whose backward pass starts from a factor.
    ///
    /// Only devices whose scale is the host's have it at hand. On others it would wait for the device: multiply by the loss that
    /// `backward` is given, or wait by [`Scaler::state`](crate::Scaler::state).
    pub fn factor(&self) -> f32 {
        self.scale.factor()
    }
}

/// Gradients of a scaled loss, with the scale they were made with.
#[must_use = "scaled gradients are for unscaling"]
pub struct ScaledGrads<D: GradScaler> {
    grads: D::Grads,
    scale: D::Scale,
    shared: Arc<Shared<D>>,
    of: Origin,
}

impl<D: GradScaler> ScaledGrads<D> {
    pub(crate) fn new(
        grads: D::Grads,
        scale: D::Scale,
        shared: Arc<Shared<D>>,
        of: Origin,
    ) -> Self {
        Self { grads, scale, shared, of }
    }

    /// Divides by the scale they were made with, whatever happened to the scaler since, and looks for what is not
    /// finite.
    ///
    /// # Errors
    ///
    /// When the device fails. An overflow is not an error: it shows up in the outcome.
    #[doc(alias = "unscale_")]
    pub fn unscale(mut self) -> Result<UnscaledGrads<D>, D::Error> {
        let found = self.shared.inspect(&mut self.grads, &self.scale)?;
        Ok(UnscaledGrads::new(self.grads, found, self.shared, self.of))
    }
}
