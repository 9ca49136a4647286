//! `cargo xtask replay FILE…`: starts the binary of `binade-tests` that replays recorded traces.

use std::path::PathBuf;

use clap::Args;

use crate::{Result, shell::Call};

#[derive(Args)]
pub(crate) struct Replay {
    /// Traces, gzipped JSON, of the kinds in `tests/data/golden`.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Replay {
    pub(crate) fn run(self) -> Result<()> {
        // Started in the user's folder, not in the root: the paths are relative to it.
        let status = call().process().args(self.files).status()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the replay ended with {status}").into())
        }
    }
}

/// The call that replays the files given as further arguments.
fn call() -> Call {
    Call::cargo("run --quiet --release --package binade-tests --bin replay --")
}
