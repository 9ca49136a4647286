//! The counting wrapper over the CPU: its counts and refusals, and that it changes no bit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod kit;
mod reads;
