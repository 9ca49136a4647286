//! Device of unit tests. If it is absent, tests are skipped visibly, unless `BINADE_REQUIRE` names it.

use crate::Cuda;
use std::fmt::Display;

/// Opens the device.
pub(crate) fn device() -> Option<Cuda> {
    Cuda::open(0).map_err(|error| absent(error, &["cuda", "ptx"])).ok()
}

/// Reports why a test is skipped; panics if one of these names is required.
pub(crate) fn absent(why: impl Display, names: &[&str]) {
    let required = std::env::var("BINADE_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| names.contains(&name.trim())), "{why}");
    eprintln!("skipped: {why}");
}
