//! The usual stages, in the order in which they run: first what is quick to say no.

mod adapters;
mod alone;
mod conformance;
mod counts;
mod deny;
mod example;
mod features;
mod golden;
mod kernels;
mod ptx;
mod shaders;
mod speed;
mod training;
mod wgpu;

use crate::{
    Result, book,
    ci::{outcome::Outcome, required::Required, tally},
    packages::Packages,
    shell::Call,
    tidy,
};

/// One stage: what it is called, what it is for, and how it is run.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) run: fn() -> Result<Outcome>,
}

/// What runs on every change.
pub(crate) fn usual() -> Vec<Stage> {
    vec![
        Stage { name: "fmt", what: "the formatting is rustfmt's", run: fmt },
        Stage { name: "tidy", what: "floors, operation grid, sizes, docs, manifests", run: tidy },
        Stage {
            name: "counts",
            what: "the crates people take alone bring at most 8",
            run: counts::run,
        },
        Stage {
            name: "deny",
            what: "licences, sources and duplicates of what we import",
            run: deny::run,
        },
        Stage {
            name: "kernels",
            what: "the committed PTX is what its sources compile to",
            run: kernels::run,
        },
        Stage {
            name: "shaders",
            what: "the committed shaders are valid, and what their sources are composed to",
            run: shaders::run,
        },
        Stage { name: "clippy", what: "no lint, in any target", run: clippy },
        Stage {
            name: "alone",
            what: "the lower floors build one by one, without and with features",
            run: alone::run,
        },
        Stage {
            name: "features",
            what: "the CUDA backend and the adapter to candle check in one program with candle's cuda feature",
            run: features::run,
        },
        Stage {
            name: "packages",
            what: "the crates people take alone work as they are packaged, with nothing beside",
            run: packages,
        },
        Stage { name: "tests", what: "library, integration and doc tests", run: tests },
        Stage {
            name: "adapters",
            what: "the adapters to candle and burn, and their examples: lints, docs and tests",
            run: adapters::run,
        },
        Stage {
            name: "ptx",
            what: "the CUDA backend on an interpreter in the driver's place, and in cuBLASLt's",
            run: ptx::run,
        },
        Stage {
            name: "wgpu",
            what: "the wgpu backend on two Vulkan drivers that run on the CPU",
            run: wgpu::run,
        },
        Stage {
            name: "conformance",
            what: "the CUDA backend keeps the kit's contracts, on the interpreter",
            run: conformance::run,
        },
        Stage {
            name: "training",
            what: "the digits example trains on the CUDA backend as on the CPU, on the interpreter",
            run: training::run,
        },
        Stage {
            name: "speed",
            what: "every benchmark runs, on the interpreter at tiny sizes",
            run: speed::run,
        },
        Stage { name: "docs", what: "the documentation builds without a warning", run: docs },
        Stage {
            name: "book",
            what: "the book builds, and its links lead somewhere",
            run: book::outcome,
        },
        Stage {
            name: "golden",
            what: "recorded traces of other libraries replay bit for bit",
            run: golden::run,
        },
        Stage {
            name: "example",
            what: "the digits example learns at every level",
            run: example::run,
        },
    ]
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
    plain(&Call::cargo("fmt --all -- --check"))
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
