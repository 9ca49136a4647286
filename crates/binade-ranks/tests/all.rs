//! Tests of ranks that are threads, on the CPU.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod averages;
mod common;
mod ends;
#[path = "../../../tests/frameworks/mod.rs"]
mod frameworks;
mod kit;
mod observed;
mod overlap;
mod own_tensor;
mod settings;
mod slice_meetings;
mod slice_saved;
mod slice_windows;
mod slices;
mod slices_refused;
mod sync_batch_norm;
mod threads;
mod together;
mod training;
mod verdicts;
