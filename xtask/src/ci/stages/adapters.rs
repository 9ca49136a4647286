//! The adapters and their examples, which the other stages leave out: their frameworks take longer to build than the rest of the
//! workspace, and want features that nobody else should be built with.

use crate::{
    Result,
    ci::{
        outcome::Outcome,
        stages::{lacking, plain},
        tally,
    },
    house::ADAPTERS,
    shell::Call,
};

/// One choice of packages, and so of features, for all calls: nothing is built twice.
pub(super) fn run() -> Result<Outcome> {
    if lacking("clippy", "clippy").is_none() {
        // As in the stage `clippy`: what ships may not unwrap.
        plain(&call("clippy", &["--", "-D", "warnings", "-D", "clippy::unwrap_used"]))?;
        plain(&call("clippy --all-targets", &["--", "-D", "warnings"]))?;
    }
    plain(&call("doc --no-deps", &[]).var("RUSTDOCFLAGS", "-D warnings"))?;
    tally::run(&call("test --no-fail-fast", &[]))
}

/// `cargo` with this command, for all adapters.
fn call(command: &str, rest: &[&str]) -> Call {
    let packages = ADAPTERS.iter().flat_map(|name| ["--package", name]);
    Call::cargo(command).args(packages).args(rest.iter().copied())
}
