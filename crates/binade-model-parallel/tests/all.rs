//! Tests of models on several devices, which are handles of the CPU.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod divisions;
mod kit;
mod moves;
mod refusals;
mod sets;
mod training;
