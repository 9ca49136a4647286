//! The `binade-autocast` crate.
