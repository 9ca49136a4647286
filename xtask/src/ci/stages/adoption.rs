//! Five crates as newcomers write them, in a workspace of their own.
//!
//! They share the folder of builds with the stage `adapters`, and its profile and features, so that candle and burn are not built
//! again.

use crate::{
    Result,
    ci::{outcome::Outcome, tally},
    shell::Call,
};

/// The lock file is committed, so that a stranger's release cannot turn this red.
pub(super) fn run() -> Result<Outcome> {
    let test = "test --workspace --locked --no-fail-fast --manifest-path tests/adoption/Cargo.toml";
    tally::run(&Call::cargo(test).args(["--target-dir", "target"]))
}
