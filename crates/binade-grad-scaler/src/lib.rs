//! The `binade-grad-scaler` crate.

#![forbid(unsafe_code)]

pub mod protocol;
