//! Training behind the kit's wrapper that counts calls: no step reads, and no bit changes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod led;
mod run;
mod training;
