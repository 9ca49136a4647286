#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod accumulation;
mod debug;
mod device;
mod host;
mod loss_scale;
mod native;
mod native_save;
mod ops;
pub mod order;
mod outcome;
mod pending;
pub mod protocol;
mod report;
mod report_text;
mod save;
mod scale_state;
mod scaled;
mod scaler;
mod shared;
mod store;
mod together;
mod unscaled;

pub use accumulation::{Accumulation, BadMicroBatch};
pub use device::GradScaler;
pub use host::{HostScale, join_findings, seen};
pub use loss_scale::{LossScale, LossScaleError, Seen};
pub use ops::{GradOps, Norm, clip_factor, record_norm};
pub use outcome::StepOutcome;
pub use pending::PendingStep;
pub use report::{PartReport, Step, StepReport, StepSummary};
pub use save::{ReopenError, SaveGrads, SavedSum, SavedWindow};
pub use scale_state::{MAX_EXPONENT, ScaleState};
pub use scaled::{ScaledGrads, ScaledLoss, ScaledTensor};
pub use scaler::Scaler;
pub use store::{Join, ScaleStore};
pub use together::TogetherGrads;
pub use unscaled::UnscaledGrads;
