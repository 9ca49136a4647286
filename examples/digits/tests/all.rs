//! Tests of the example on the CPU.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arguments;
mod common;
mod learns;
mod mnist;
mod ranks;
mod reproducible;
mod runs;
mod unwatched;
