//! Calls of other libraries, which do not compile and say what to call here.

use crate::{GradScaler, PendingStep, ScaledGrads, Scaler, UnscaledGrads};

/// Bound of what only unscaled gradients can do. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "these gradients are still scaled: call `.unscale()?` first",
    label = "gradients times the loss scale",
    note = "`scaler.scale(&loss)?.backward(…)?.unscale()?` gives gradients that can be clipped, accumulated and stepped with"
)]
pub trait Unscaled {
    /// Cannot be called.
    fn never<T>(&self) -> T;
}

/// Bound of what gradients do here, and the scaler does in torch. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "gradients are unscaled and stepped with, and not the scaler",
    label = "holds no gradients",
    note = "call `let step = scaler.scale(&loss)?.backward(…)?.unscale()?.step(&mut optimizer)?;` and then `scaler.update(step)?`"
)]
pub trait HoldsGradients {
    /// Cannot be called.
    fn never<T>(&self) -> T;
}

impl<D: GradScaler> ScaledGrads<D> {
    #[doc(hidden)]
    pub fn step<O: ?Sized>(self, _optimizer: &mut O) -> Result<PendingStep<D>, D::Error>
    where
        Self: Unscaled,
    {
        self.never()
    }

    #[doc(hidden)]
    pub fn clip_norm(self, _max: f32) -> Result<UnscaledGrads<D>, D::Error>
    where
        Self: Unscaled,
    {
        self.never()
    }

    #[doc(hidden)]
    pub fn clip_value(self, _max: f32) -> Result<UnscaledGrads<D>, D::Error>
    where
        Self: Unscaled,
    {
        self.never()
    }
}

impl<D: GradScaler> Scaler<D> {
    #[doc(hidden)]
    pub fn step<O: ?Sized>(&mut self, _optimizer: &mut O) -> Result<PendingStep<D>, D::Error>
    where
        Self: HoldsGradients,
    {
        self.never()
    }

    #[doc(hidden)]
    pub fn unscale_<O: ?Sized>(&mut self, _optimizer: &mut O) -> Result<(), D::Error>
    where
        Self: HoldsGradients,
    {
        self.never()
    }
}
