//! The `binade-cpu` crate.
