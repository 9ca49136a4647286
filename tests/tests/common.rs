//! Recordings, and what tests change in them.

use binade_tests::replay::{file, replay};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Where a recording of `data/golden` is.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/golden").join(name)
}

/// A recording of `data/golden`.
pub(crate) fn golden(name: &str) -> Value {
    file(&path(name)).unwrap()
}

/// A number as recordings have it.
pub(crate) fn num(x: f64) -> Value {
    json!({"dec": x.to_string(), "f64": format!("{:#018x}", x.to_bits())})
}

/// Returns what a replay that fails says.
pub(crate) fn failure(recording: &Value) -> String {
    replay(recording).unwrap_err().to_string()
}
