//! The main example, and whether every level trained: as it was built for the tests, or in release, as the README runs it.

mod verdict;

use std::fs;

use crate::{
    Result,
    binaries::{Binaries, Kind},
    ci::{outcome::Outcome, stages::plain},
    shell::{Call, root},
};

/// As it was built for the tests: the same program on the same numbers. The arithmetic is optimised there too, and nothing is built again.
pub(crate) fn run() -> Result<Outcome> {
    trained(Binaries::built()?.call("digits", Kind::Example, "digits")?)
}

/// The README's first command.
pub(crate) fn in_release() -> Result<Outcome> {
    trained(Call::cargo("run --release --example digits --"))
}

/// Whether the program trained, by the report that it leaves.
fn trained(program: Call) -> Result<Outcome> {
    let folder = root().join("target/ci");
    // An earlier run's report must not speak for this one.
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let file = folder.join("digits.json");
    plain(&program.args(["--json", &file.to_string_lossy()]))?;
    let json = fs::read_to_string(&file)
        .map_err(|error| format!("{} was not written: {error}", file.display()))?;
    verdict::verdict(&json)
}
