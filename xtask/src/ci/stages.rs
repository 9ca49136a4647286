//! The usual stages, in the order in which they run: first what is quick to say no.

mod adapters;
mod adoption;
mod alone;
mod conformance;
mod counts;
mod deny;
pub(crate) mod example;
mod features;
mod golden;
mod kernels;
pub(crate) mod ptx;
mod shaders;
mod speed;
mod training;
mod vectors;
mod wgpu;

use crate::{
    Result, book,
    ci::{outcome::Outcome, required::Required, tally},
    fmt::Fmt,
    packages::Packages,
    shell::Call,
    tidy,
};

/// One stage: what it is called, what it is for, and how it is run.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) run: fn() -> Result<Outcome>,
    /// Whether it only starts what other stages have built, so that it may run beside another such.
    pub(crate) is_beside: bool,
}

/// What runs on every change.
pub(crate) fn usual() -> Vec<Stage> {
    [&building()[..], &running()].concat()
}

/// Each with all cores to itself.
fn building() -> Vec<Stage> {
    vec![
        Stage::alone("fmt", "the formatting is rustfmt's", fmt),
        Stage::alone("tidy", "floors, operation grid, sizes, docs, manifests", tidy),
        Stage::alone(
            "counts",
            "the crates people take alone bring at most 8, procedural macros not counted",
            counts::run,
        ),
        Stage::alone("deny", "licences, sources and duplicates of what we import", deny::run),
        Stage::alone("kernels", "the committed PTX is what its sources compile to", kernels::run),
        Stage::alone(
            "shaders",
            "the committed shaders are valid, and what their sources are composed to",
            shaders::run,
        ),
        Stage::alone("clippy", "no lint, in any target", clippy),
        Stage::alone(
            "alone",
            "the lower floors build one by one, without and with features; the digits and the bundle without wgpu",
            alone::run,
        ),
        Stage::alone(
            "features",
            "the CUDA backend and the adapter to candle check in one program with candle's cuda feature",
            features::run,
        ),
        Stage::alone(
            "packages",
            "the crates people take alone work as they are packaged, with nothing beside",
            packages,
        ),
        Stage::alone(
            "vectors",
            "the CPU's step is in packed instructions in a user's release build",
            vectors::run,
        ),
        Stage::alone("tests", "library, integration and doc tests", tests),
        Stage::alone(
            "adapters",
            "the adapters to candle and burn, and their examples: lints, docs and tests",
            adapters::run,
        ),
        Stage::alone(
            "adoption",
            "five newcomers' crates build from paths alone, and train",
            adoption::run,
        ),
        Stage::alone("docs", "the documentation builds without a warning", docs),
        Stage::alone("book", "the book builds, and its links lead somewhere", book::outcome),
    ]
}

/// Side by side, what takes longest first.
fn running() -> Vec<Stage> {
    vec![
        Stage::beside(
            "wgpu",
            "the wgpu backend on two Vulkan drivers that run on the CPU",
            wgpu::run,
        ),
        Stage::beside(
            "ptx",
            "the CUDA backend on an interpreter in the driver's place, and in cuBLASLt's",
            ptx::run,
        ),
        Stage::beside(
            "conformance",
            "the CUDA backend keeps the kit's contracts, on the interpreter",
            conformance::run,
        ),
        Stage::beside(
            "training",
            "the digits example trains on the CUDA backend as on the CPU, on the interpreter",
            training::run,
        ),
        Stage::beside(
            "speed",
            "every benchmark runs, on the interpreter at tiny sizes",
            speed::run,
        ),
        Stage::beside(
            "golden",
            "recorded traces of other libraries replay bit for bit",
            golden::run,
        ),
        Stage::beside("example", "the digits example learns at every level", example::run),
    ]
}

impl Stage {
    /// One that builds.
    pub(crate) const fn alone(
        name: &'static str,
        what: &'static str,
        run: fn() -> Result<Outcome>,
    ) -> Self {
        Self { name, what, run, is_beside: false }
    }

    /// One that starts what is built.
    const fn beside(name: &'static str, what: &'static str, run: fn() -> Result<Outcome>) -> Self {
        Self { name, what, run, is_beside: true }
    }
}

/// Runs a call whose exit status is all that matters.
pub(crate) fn plain(call: &Call) -> Result<Outcome> {
    println!("{call}");
    call.run().map(|()| Outcome::passed())
}

/// A skip where the toolchain lacks a component, as rustup's minimal one does: who has cargo alone can run the tests.
fn lacking(command: &str, component: &str) -> Option<Outcome> {
    let there = Call::cargo(command).args(["--version"]).succeeds();
    let advice = format!("cargo {command} is not installed: rustup component add {component}");
    (!there).then_some(Outcome::Skipped(advice))
}

fn fmt() -> Result<Outcome> {
    if let Some(skip) = lacking("fmt", "rustfmt") {
        return Ok(skip);
    }
    Fmt { check: true }.run().map(|()| Outcome::passed())
}

fn tidy() -> Result<Outcome> {
    tidy::run().map(|()| Outcome::passed())
}

fn packages() -> Result<Outcome> {
    Packages::as_they_lie().run().map(|()| Outcome::passed())
}

fn clippy() -> Result<Outcome> {
    if let Some(skip) = lacking("clippy", "clippy") {
        return Ok(skip);
    }
    // Tests may unwrap: a panic is how they fail. What ships may not.
    plain(&Call::cargo("clippy --all-features -- -D warnings -D clippy::unwrap_used"))?;
    plain(&Call::cargo("clippy --all-targets --all-features -- -D warnings"))
}

/// `--no-fail-fast`, so that one run tells everything that is wrong. Not `--all-targets`, which would leave out doc tests.
/// Tests on the interpreter and on Vulkan drivers have stages of their own, and are skipped here.
fn tests() -> Result<Outcome> {
    let required = Required::from_env().without("ptx").without("wgpu");
    let call = Call::cargo("test --all-features --no-fail-fast");
    let call = call.var("VK_LOADER_DRIVERS_DISABLE", "*");
    tally::run(&call.var("BINADE_REQUIRE", required.to_string()))
}

fn docs() -> Result<Outcome> {
    plain(&Call::cargo("doc --all-features --no-deps").var("RUSTDOCFLAGS", "-D warnings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_cargo_does_not_have_is_a_skip_that_says_what_to_install() {
        assert_eq!(
            lacking("no-such-command", "no-such-component"),
            Some(Outcome::Skipped(
                "cargo no-such-command is not installed: rustup component add no-such-component"
                    .into()
            ))
        );
        assert_eq!(lacking("", ""), None, "cargo itself");
    }
}
