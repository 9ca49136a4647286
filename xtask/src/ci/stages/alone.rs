//! Each crate of the lower floors by itself.
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
    Ok(Outcome::passed())
}
