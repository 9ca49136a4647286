#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod config;
mod config_error;
mod fp16_optimizer;
mod host;
mod lost_updates;
mod masters;
mod matching;
mod memory;
mod native;
mod optimizer;
mod param_state;
mod rules;
mod snapshot;
mod sparse;
mod static_set;
pub mod step;
pub mod stores;

/// Crate whose types this one uses, re-exported so that a manifest need not name it.
pub use binade_core as core;

pub use binade_core::{HostOptimizer, LoadError};
pub use config::{OptimizerConfig, ParamGroup, Storage};
pub use config_error::ConfigError;
pub use fp16_optimizer::{Fp16Optimizer, MasterSet, MasterStep};
pub use host::HostMasters;
pub use lost_updates::LostUpdates;
pub use masters::MasterWeights;
pub use matching::{Matched, ParamInfo, match_gradients, require_gradients};
pub use memory::Memory;
pub use optimizer::MasterOptimizer;
pub use param_state::{HostParamState, Master};
pub use rules::*;
pub use snapshot::{
    ParameterSpec, SavedParameter, Snapshot, StateKind, UnknownStateKind, check_saved,
    check_saved_slices,
};
pub use sparse::{gathered, scattered};
pub use stores::MasterStore;
