//! The first half of the order: a scaled loss, its gradients, and the state that both share with their scaler.

use super::pending::{Iterations, Origin};
use crate::{GradScaler, Loss, ScaleState, UnscaledGrads};
use std::sync::Arc;

/// Scaled loss, with its scale.
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
    /// `run` must differentiate its argument: a captured loss is not scaled. [`Scaler::verify_backward`](crate::Scaler::verify_backward) checks that.
    /// It returns a new set each time, so there is nothing to set to zero in between.
    ///
    /// # Errors
    ///
    /// The errors of `run`.
    #[doc(alias = "zero_grad")]
    pub fn backward<F>(self, run: F) -> Result<ScaledGrads<D>, L::Error>
    where
        F: FnOnce(&L) -> Result<D::Grads, L::Error>,
    {
        let Self { loss, scale, shared, of } = self;
        Ok(ScaledGrads::new(run(&loss)?, scale, shared, of))
    }

    /// Returns gradients that belong to no optimizer, as a gradient penalty needs them, each divided by the scale. The gradients are not checked: an
    /// overflow shows up in the loss computed from them.
    ///
    /// # Errors
    ///
    /// The errors of `run`, and of a device that fails.
    pub fn grads<F, G>(&self, run: F) -> Result<Vec<L>, L::Error>
    where
        F: FnOnce(&L) -> Result<G, L::Error>,
        G: IntoIterator<Item = L>,
    {
        let unscaled = |grad: L| grad.unscaled(&self.shared.device, &self.scale);
        run(&self.loss)?.into_iter().map(unscaled).collect()
    }
}

impl<D: GradScaler<Scale = ScaleState>, L> ScaledLoss<D, L> {
    /// Returns the number that the loss was multiplied by, for frameworks whose backward pass starts from a factor.
    ///
    /// It is available only for devices whose scale is on the host. Elsewhere it would wait for the device: multiply by the loss that `backward`
    /// receives, or wait through [`Scaler::state`](crate::Scaler::state).
    pub fn factor(&self) -> f32 {
        self.scale.factor()
    }
}

/// Gradients of a scaled loss, with its scale.
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

    /// Divides the gradients by the scale of their loss, even if the scaler has changed since, and checks for infinity and NaN.
    ///
    /// # Errors
    ///
    /// When the device fails. An overflow is not an error: it shows up in the outcome.
    #[doc(alias = "unscale_")]
    pub fn unscale(mut self) -> Result<UnscaledGrads<D>, D::Error> {
        let found = self.shared.device.unscale(&mut self.grads, &self.scale)?;
        Ok(UnscaledGrads::new(self.grads, found, self.shared, self.of))
    }
}

/// State shared by a `Scaler` and every value derived from it.
pub(crate) struct Shared<D: GradScaler> {
    pub(crate) device: D,
    /// A scale of 1, for gradients that no loss scaled.
    pub(crate) one: D::Scale,
    /// Held by each pending step, which needs no other part of this state.
    pub(crate) iterations: Arc<Iterations>,
}

impl<D: GradScaler> Shared<D> {
    pub(crate) fn new(device: D, one: D::Scale) -> Self {
        Self { device, one, iterations: Arc::new(Iterations::new()) }
    }

    /// Returns a separate state, for an outcome that does not count as in flight.
    pub(crate) fn apart(&self) -> Self
    where
        D: Clone,
    {
        Self::new(self.device.clone(), self.one.clone())
    }

    /// An error if a step was dropped before its update, once.
    pub(crate) fn check_dropped(&self) -> Result<(), D::Error> {
        let dropped = self.iterations.take_dropped();
        dropped.map_or(Ok(()), |error| Err(self.device.train_error(error.into())))
    }
}
