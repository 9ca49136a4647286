#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod contract;
mod extras;
mod loss_scale;
pub mod order;
mod report;
mod step;

/// The words that this crate speaks, so that it can be the only one that a manifest names.
pub use binade_core as core;

pub use contract::{
    ClipGroup, ClipGroupError, GradOps, GradScaler, Join, Loss, Norm, ScaleStore, check_group_norm,
    clip_factor, join_findings, record_norm, seen,
};
pub use extras::{
    DelayedUnscale, DivergenceKind, Pass, RecordedStep, RecordedUpdate, ReplayDivergence,
    ReplayScales, ScaledSum, SparseError, SparseGrad, Trajectory, join_ranks, reduce_on_host,
};
pub use loss_scale::{
    Averages, LogMax, LossScale, LossScaleError, MAX_EXPONENT, ScaleState, Seen, Tolerance,
};
pub use report::{PartReport, Step, StepReport, StepSummary};
pub use step::{
    Accumulation, BadMicroBatch, LinkedGrads, PendingStep, ReopenError, SavedSum, SavedWindow,
    ScaledGrads, ScaledLoss, Scaler, StepOutcome, UnscaledGrads,
};
