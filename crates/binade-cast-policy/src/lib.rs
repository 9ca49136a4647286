#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod call;
mod category;
mod decision;
mod explain;
mod glob;
mod op_sizes;
mod overrides;
mod policy;
mod preset;
mod rule;
#[cfg(feature = "serde")]
mod saved;
mod table;

/// Crate whose types this one uses, re-exported so that a manifest need not name it.
pub use binade_core as core;

pub use call::OpCall;
pub use category::Category;
pub use decision::{Decision, PolicyError, Site};
pub use explain::{Explanation, PlannedCast, Uneven};
pub use glob::Glob;
pub use overrides::{Condition, Overrides};
pub use policy::CastPolicy;
pub use rule::CastRule;
pub use table::OpTable;
