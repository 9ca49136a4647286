//! The `binade-cast-policy` crate.
