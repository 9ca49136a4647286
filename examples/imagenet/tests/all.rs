//! Tests of the example on the CPU.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arguments;
mod common;
mod folders;
mod loader;
mod pretrained;
mod ranks;
mod resumed;
mod runs;
