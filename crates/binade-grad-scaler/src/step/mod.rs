//! The typed order: from a scaled loss to the outcome of a step, and windows of several losses.

mod accumulation;
mod debug;
mod each;
mod linked;
mod misuse;
mod outcome;
pub(crate) mod pending;
mod save;
pub(crate) mod scaled;
mod scaler;
mod unscaled;
mod verify;

pub use accumulation::{Accumulation, BadMicroBatch};
pub use linked::LinkedGrads;
pub use outcome::StepOutcome;
pub use pending::PendingStep;
pub use save::SavedWindow;
pub use scaled::{ScaledGrads, ScaledLoss};
pub use scaler::Scaler;
pub use unscaled::UnscaledGrads;
