#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

/// Doc tests of an order that compiles and runs, and of wrong ones, each under the words that say why it does not compile.
macro_rules! order {
    ($($right:literal)+, $($fence:literal: $($wrong:literal)+,)+) => {
        concat!(order!(@ "", $($right)+), $("\n", order!(@ $fence, $($wrong)+)),+)
    };
    (@ $fence:literal, $($line:literal)+) => {
        concat!(
            "```", $fence, "\n",
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/order_prelude.md")),
            $($line, "\n",)+ "# Ok::<(), HostDeviceError<Infallible>>(())\n```\n",
        )
    };
}

mod contract;
mod extras;
mod loss_scale;
pub mod order;
mod report;
mod step;

/// Crate whose types this one uses, re-exported so that a manifest need not name it.
pub use binade_core as core;

pub use binade_core::{MergeRule, clip_factor};
pub use contract::{ClipGroup, GradOps, GradScaler, Loss, Norm, PeerDevice, ScaleStore};
pub use extras::{DelayedUnscale, ScaledSum};
pub use loss_scale::{
    Averages, LogMax, LossScale, LossScaleError, ScaleState, Tolerance, UpdateInputs,
};
pub use report::{PartReport, Step, StepReport, StepSummary};
pub use step::{
    Accumulation, BadMicroBatch, LinkedGrads, PendingStep, SavedWindow, ScaledGrads, ScaledLoss,
    Scaler, StepOutcome, UnscaledGrads,
};
