//! The wrapper that counts, over the CPU: what it counts, what it refuses, and that it changes no bit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod kit;
mod reads;
