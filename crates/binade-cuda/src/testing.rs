//! Device of unit tests, which may be absent: tests are skipped visibly then, unless `BINADE_REQUIRE` names it.

use crate::{Cuda, Error, Replicas};
use std::fmt::Display;

/// Opens the device.
pub(crate) fn device() -> Option<Cuda> {
    opened(Cuda::open(0))
}

/// Opens replicas, twice on the one device: two streams, which nothing orders but events.
pub(crate) fn replicas() -> Option<Replicas> {
    opened(Replicas::open(&[0, 0]))
}

fn opened<T>(opened: Result<T, Error>) -> Option<T> {
    opened.map_err(|error| absent(error, &["cuda", "ptx"])).ok()
}

/// Reports why a test is skipped; panics if one of these names is required.
pub(crate) fn absent(why: impl Display, names: &[&str]) {
    let required = std::env::var("BINADE_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| names.contains(&name.trim())), "{why}");
    eprintln!("skipped: {why}");
}
