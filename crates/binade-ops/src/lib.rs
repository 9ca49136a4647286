//! The `binade-ops` crate.
