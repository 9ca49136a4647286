//! The stages that `--full` adds.

use crate::{
    Result,
    ci::{
        fuzz,
        outcome::Outcome,
        semver,
        stages::{Stage, example, ptx},
        tally,
    },
    mutate,
    shell::Call,
};

pub(crate) fn stages() -> Vec<Stage> {
    vec![
        Stage::alone(
            "sweeps",
            "casts over every f32, a million steps of every rule, in release",
            sweeps,
        ),
        Stage::alone("properties", "random cases, hundreds of times as many", properties),
        Stage::alone(
            "release",
            "the digits example learns at every level, in release",
            example::in_release,
        ),
        Stage::alone(
            "starts",
            "the CUDA kernels from every start with every tail, on the interpreter",
            ptx::starts,
        ),
        Stage::alone(
            "semver",
            "the lower floors keep the interfaces that the last tag has",
            semver::run,
        ),
        Stage::alone("fuzz", "random bytes, a minute for each reader", fuzz::run),
        Stage::alone("mutants", "the kit notices a kernel with one change", mutate::sample),
        Stage::alone("sanitizer", "the CPU backend under the address sanitizer", sanitizer),
    ]
}

fn sweeps() -> Result<Outcome> {
    let call = Call::cargo(
        "test --release --package binade-core --package binade-grad-scaler --package binade-interchange",
    );
    tally::run(&call.args(["--all-features"]).var("BINADE_FULL", "1"))
}

/// Whatever proptest draws: calls in any order, rules, gradients, globs, roundings. 256 cases are its default.
fn properties() -> Result<Outcome> {
    let call = Call::cargo("test --release --all-features --lib --tests");
    let packages = PROPERTIES.iter().flat_map(|name| ["--package", name]);
    // A property may refuse what it is not about: the default of 1024 refusals is meant for 256 cases.
    let call = call.var("PROPTEST_CASES", "100000").var("PROPTEST_MAX_GLOBAL_REJECTS", "1000000");
    tally::run(&call.args(packages))
}

/// The crates with properties.
const PROPERTIES: [&str; 5] = [
    "binade-cast-policy",
    "binade-core",
    "binade-grad-scaler",
    "binade-interchange",
    "binade-master-weights",
];

/// Over the CPU backend, whose loops may hold `unsafe`. The target is named, so that build scripts are built without the sanitizer.
fn sanitizer() -> Result<Outcome> {
    let Some(host) = nightly_host() else {
        return Ok(Outcome::Skipped(
            "no nightly toolchain: rustup toolchain install nightly --profile minimal".into(),
        ));
    };
    let call = Call::cargo(
        "+nightly test --package binade-cpu --lib --tests --target-dir target/sanitizer --target",
    );
    tally::run(&call.args([host]).var("RUSTFLAGS", "-Zsanitizer=address"))
}

/// The triple that nightly builds for, or nothing where there is no nightly.
fn nightly_host() -> Option<String> {
    let version = Call::cargo("+nightly version --verbose").read().ok()?;
    version.lines().find_map(|line| line.strip_prefix("host: ")).map(String::from)
}
