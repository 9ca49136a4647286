//! State of a scaler in a checkpoint of another library: import, continuation, and export.

mod apex;
mod deepspeed;
mod deepspeed_fused;
mod error;
mod keras;
mod numbers;
mod paddle;
mod rule;
#[cfg(test)]
mod tests;
mod torch;

pub use apex::{ApexScaler, ApexState};
pub use deepspeed::{DeepSpeedState, FirstGrowth};
pub use deepspeed_fused::DeepSpeedFusedState;
pub use error::InterchangeError;
pub use keras::{KerasState, TfKerasState};
pub use paddle::PaddleState;

use binade_grad_scaler::{LossScale, ScaleState};

/// Rule and state imported from another library, for [`Scaler::new`](binade_grad_scaler::Scaler::new) and
/// [`Scaler::set_state`](binade_grad_scaler::Scaler::set_state).
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Imported {
    /// Rule, which starts at the imported scale.
    pub rule: LossScale,
    /// Scale and its counters.
    pub state: ScaleState,
    /// Differences from the other library; empty if there are none.
    pub notes: Vec<String>,
}

/// State exported for another library, made from a rule and a state.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Exported<S> {
    /// Keys that the library loads.
    pub saved: S,
    /// Differences in the library's later behaviour; empty if there are none.
    pub notes: Vec<String>,
}
