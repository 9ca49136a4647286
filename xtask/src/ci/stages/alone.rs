//! Each crate of the lower floors by itself, the first example as its command builds it, and the bundle's programs as they are
//! carried.
//!
//! In a workspace build features are united, so that a crate may lean on a feature that only its neighbour switched on.

use crate::{
    Result,
    ci::{outcome::Outcome, stages::plain},
    house,
    shell::Call,
};

pub(crate) fn run() -> Result<Outcome> {
    for name in house::small_crates() {
        for features in ["--no-default-features", "--all-features"] {
            plain(&Call::cargo("check --quiet --package").args([name, features]))?;
        }
    }
    // Everything else builds these with every device.
    plain(&Call::cargo("check --quiet --package binade-example-digits --all-targets"))?;
    plain(&Call::cargo("check --quiet --package binade-bench --no-default-features"))?;
    Ok(Outcome::passed())
}
