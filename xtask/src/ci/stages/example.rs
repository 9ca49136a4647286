//! The main example in release, as the README runs it, and whether every level trained.

mod verdict;

use std::fs;

use crate::{
    Result,
    ci::{outcome::Outcome, stages::plain},
    shell::{Call, root},
};

/// The README's first command, with its report kept.
pub(crate) fn run() -> Result<Outcome> {
    let folder = root().join("target/ci");
    // An earlier run's report must not speak for this one.
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let file = folder.join("digits.json");
    let call = Call::cargo("run --release --example digits -- --json");
    plain(&call.args([file.to_string_lossy().as_ref()]))?;
    let json = fs::read_to_string(&file)
        .map_err(|error| format!("{} was not written: {error}", file.display()))?;
    verdict::verdict(&json)
}
