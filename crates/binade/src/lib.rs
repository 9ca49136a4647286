//! The `binade` crate.
