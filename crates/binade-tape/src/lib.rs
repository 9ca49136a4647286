//! The `binade-tape` crate.
