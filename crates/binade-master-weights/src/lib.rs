#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod constants;
mod host;
mod kept;
mod lost_updates;
mod masters;
mod matching;
mod memory;
mod native;
mod optimizer;
mod plan;
mod rule;
mod slot;
mod snapshot;
mod static_set;
pub mod step;
pub mod stores;
mod wrapper;

/// The words that this crate speaks, so that it can be the only one that a manifest names.
pub use binade_core as core;

pub use binade_core::LoadError;
pub use constants::{AdamConstants, BiasCorrection, SgdConstants, StepConstants};
pub use host::{HostMasters, PlanError};
pub use kept::{Kept, KeptValues};
pub use lost_updates::LostUpdates;
pub use masters::MasterWeights;
pub use matching::{Facts, Matched, matched, some};
pub use memory::Memory;
pub use optimizer::MasterOptimizer;
pub use plan::{Group, Plan, Storage};
pub use rule::{Adam, RuleError, Sgd, UpdateRule};
pub use slot::{Master, Slot};
pub use snapshot::{Kind, ParameterForm, SavedParameter, Snapshot, UnknownKind, fits};
pub use stores::MasterStore;
pub use wrapper::HostOptimizer;
