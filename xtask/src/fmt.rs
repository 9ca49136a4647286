//! Formats every Rust file of the repository.
//!
//! `cargo fmt` follows `mod` declarations and expands no macro, so that it does not reach the files of operations, whose modules
//! are made from the table of `binade-ops`.

use crate::{
    Result,
    shell::{Call, root},
};

/// The command line of `cargo xtask fmt`.
#[derive(clap::Args)]
pub(crate) struct Fmt {
    /// Changes nothing, and fails where a file is formatted otherwise
    #[arg(long)]
    pub(crate) check: bool,
}

impl Fmt {
    /// Runs rustfmt on all files that git does not ignore.
    pub(crate) fn run(self) -> Result<()> {
        let list = "git ls-files --cached --others --exclude-standard -- '*.rs'";
        let files = Call::line(list).read()?;
        let files = files.lines().filter(|file| root().join(file).exists());
        let call = Call::line("rustfmt").args(self.check.then_some("--check")).args(files);
        let status = call.process().current_dir(root()).status()?;
        if status.success() {
            return Ok(());
        }
        Err(if self.check { "`cargo xtask fmt` formats them" } else { "rustfmt failed" }.into())
    }
}
