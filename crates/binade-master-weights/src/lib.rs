#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod constants;
mod host;
mod masters;
mod matching;
mod memory;
mod native;
mod optimizer;
mod plan;
mod rule;
mod snapshot;
pub mod step;
mod wrapper;

pub use constants::{AdamConstants, BiasCorrection, SgdConstants, StepConstants};
pub use host::{HostMasters, PlanError, Slot};
pub use masters::MasterWeights;
pub use matching::{Facts, matched, some};
pub use memory::Memory;
pub use optimizer::MasterOptimizer;
pub use plan::{Group, MasterStore, Plan, Storage};
pub use rule::{Adam, RuleError, Sgd, UpdateRule};
pub use snapshot::{Kind, LoadError, ParameterForm, SavedParameter, Snapshot, UnknownKind, fits};
pub use wrapper::{HostOptimizer, Materialise};
