#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod cache;
mod cast_stats;
mod device;
mod error;
mod region;
mod scope;

/// Crate whose types this one uses, re-exported so that a manifest need not name it.
pub use binade_core as core;

pub use cast_stats::{CastStats, OpCasts};
pub use device::{Autocast, CacheKey};
pub use error::CastError;
pub use region::Region;
pub use scope::Scope;
