//! The `binade-master-weights` crate.
