//! The `binade-grad-scaler` crate.
