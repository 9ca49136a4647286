//! The `binade-master-weights` crate.

#![forbid(unsafe_code)]

mod constants;
mod rule;
pub mod step;

pub use constants::{AdamConstants, SgdConstants, StepConstants};
pub use rule::{Adam, RuleError, Sgd, UpdateRule};
