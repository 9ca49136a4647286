#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod accumulation;
mod clip_groups;
mod debug;
mod delayed;
mod device;
mod each;
mod follow;
mod host;
mod iterations;
mod loss;
mod loss_scale;
mod misuse;
mod native;
mod native_clip_groups;
mod ops;
pub mod order;
mod outcome;
mod pending;
mod ranks;
mod report;
mod report_text;
mod save;
mod scale_state;
mod scaled;
mod scaler;
mod shared;
mod sparse;
mod static_set;
mod store;
mod together;
mod trajectory;
mod unscaled;
mod verify;

/// The words that this crate speaks, so that it can be the only one that a manifest names.
pub use binade_core as core;

pub use accumulation::{Accumulation, BadMicroBatch};
pub use clip_groups::{ClipGroup, ClipGroupError, check_group_norm};
pub use delayed::{DelayedUnscale, ScaledSum};
pub use device::GradScaler;
pub use follow::{DivergenceKind, ReplayDivergence, ReplayScales};
pub use host::{join_findings, seen};
pub use loss::Loss;
pub use loss_scale::{Averages, LogMax, LossScale, LossScaleError, Seen, Tolerance};
pub use ops::{GradOps, Norm, clip_factor, record_norm};
pub use outcome::StepOutcome;
pub use pending::PendingStep;
pub use ranks::{Pass, RankError, join_ranks, reduce_on_host};
pub use report::{PartReport, Step, StepReport, StepSummary};
pub use save::{ReopenError, SavedSum, SavedWindow};
pub use scale_state::{MAX_EXPONENT, ScaleState};
pub use scaled::{ScaledGrads, ScaledLoss};
pub use scaler::Scaler;
pub use sparse::{SparseError, SparseGrad};
pub use store::{Join, ScaleStore};
pub use together::TogetherGrads;
pub use trajectory::{RecordedStep, RecordedUpdate, Trajectory};
pub use unscaled::UnscaledGrads;
