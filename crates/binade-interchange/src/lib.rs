#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod dtype_policy;
mod nearest;
pub mod protocol;
mod state;

/// Element types and errors shared by Binade's crates.
pub use binade_core as core;
/// Rules and states that an import returns.
pub use binade_grad_scaler as grad_scaler;

pub use dtype_policy::{DTypePolicy, DTypePolicyError};
pub use state::{
    ApexScaler, ApexState, DeepSpeedFusedState, DeepSpeedState, Exported, FirstGrowth, Imported,
    InterchangeError, KerasState, PaddleState, TfKerasState,
};
