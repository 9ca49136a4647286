//! The `binade-conformance` crate.
