//! The CUDA backend and candle's `cuda` feature in one program, on a machine that need not have CUDA.
//!
//! cudarc is one crate to both, built with what either asks of it; a choice of ours that excludes one of candle's would keep
//! the two apart. Linking would want CUDA's libraries, since candle's list has `dynamic-linking`; a check does not link.

use crate::{
    Result,
    ci::{outcome::Outcome, stages::plain},
    shell::Call,
};

/// The package's lock file is committed as the workspace's is, so that a stranger's release cannot turn this red.
pub(super) fn run() -> Result<Outcome> {
    let check = "check --quiet --locked --manifest-path tests/features/Cargo.toml";
    plain(&Call::cargo(check).args(["--target-dir", "target/features"]))
}
