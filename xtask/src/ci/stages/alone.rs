//! Each crate of the lower floors by itself, and the first example as its command builds it.
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
    // Everything else builds it with every device.
    plain(&Call::cargo("check --quiet --package binade-example-digits --all-targets"))?;
    Ok(Outcome::passed())
}
