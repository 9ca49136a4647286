//! Calls of other libraries, which fail to compile with a message that names the right call.

use crate::{GradScaler, PendingStep, ScaledGrads, Scaler, UnscaledGrads};

/// Bound of methods that only unscaled gradients have. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "these gradients are still scaled: call `.unscale()?` first",
    label = "gradients times the loss scale",
    note = "`scaler.scale(&loss)?.backward(…)?.unscale()?` gives gradients that can be clipped, accumulated and stepped with"
)]
pub(crate) trait Unscaled {
    /// Cannot be called.
    fn never<T>(&self) -> T;
}

/// Bound of methods that the scaler has in torch, and gradients have here. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "gradients are unscaled and stepped with, and not the scaler",
    label = "holds no gradients",
    note = "call `let step = scaler.scale(&loss)?.backward(…)?.unscale()?.step(&mut optimizer)?;` and then `scaler.update(step)?`"
)]
pub(crate) trait HoldsGradients {
    /// Cannot be called.
    fn never<T>(&self) -> T;
}

/// Methods that no call satisfies: the error is the message of their bound.
macro_rules! refused {
    ($($of:ident::$name:ident -> $gives:ty, $bound:ident;)*) => {$(
        impl<D: GradScaler> $of<D> {
            #[doc(hidden)]
            #[expect(private_bounds, reason = "no call satisfies them")]
            pub fn $name<A>(self, _: A) -> Result<$gives, D::Error>
            where
                Self: $bound,
            {
                self.never()
            }
        }
    )*};
}

refused! {
    ScaledGrads::step -> PendingStep<D>, Unscaled;
    ScaledGrads::clip_norm -> UnscaledGrads<D>, Unscaled;
    ScaledGrads::clip_value -> UnscaledGrads<D>, Unscaled;
    Scaler::step -> PendingStep<D>, HoldsGradients;
    Scaler::unscale_ -> (), HoldsGradients;
}
