#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod call;
mod category;
mod decision;
mod explain;
mod facts;
mod glob;
mod overrides;
mod policy;
mod preset;
mod rule;
#[cfg(feature = "serde")]
mod saved;
mod table;
#[cfg(feature = "toml")]
mod written;

/// Crate whose types this one uses, re-exported so that a manifest need not name it.
pub use binade_core as core;

pub use call::{Attribute, OpCall};
pub use category::Category;
pub use decision::{Decision, Refusal, Site};
pub use explain::{Explanation, PlannedCast, Uneven};
pub use facts::Facts;
pub use glob::Glob;
pub use overrides::{Inapplicable, Is, Overrides, When};
pub use policy::CastPolicy;
pub use rule::CastRule;
pub use table::OpTable;
#[cfg(feature = "toml")]
pub use written::TomlError;
