//! `Debug` for the order's types: what they are, not what the device holds, which printing must not read.

use crate::{
    Accumulation, DelayedUnscale, GradScaler, LinkedGrads, PendingStep, ScaleStore, ScaledGrads,
    ScaledLoss, ScaledSum, Scaler, StepOutcome, UnscaledGrads,
};
use std::fmt;

macro_rules! opaque {
    ($($name:ident$(<$loss:ident>)?: $bound:ident),* $(,)?) => {$(
        impl<D: $bound $(, $loss)?> fmt::Debug for $name<D $(, $loss)?> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}

opaque! {
    Accumulation: GradScaler,
    DelayedUnscale: GradScaler,
    PendingStep: ScaleStore,
    ScaledGrads: GradScaler,
    ScaledLoss<L>: GradScaler,
    ScaledSum: GradScaler,
    StepOutcome: GradScaler,
    LinkedGrads: GradScaler,
    UnscaledGrads: GradScaler,
}

impl<D: GradScaler> fmt::Debug for Scaler<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scaler").field("rule", self.rule()).finish_non_exhaustive()
    }
}
