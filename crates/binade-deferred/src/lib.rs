//! The `binade-deferred` crate.
