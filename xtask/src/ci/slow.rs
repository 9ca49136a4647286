//! The stages that `--full` adds.

use crate::{
    Result,
    ci::{outcome::Outcome, stages::Stage, tally},
    shell::Cargo,
};

pub(crate) fn stages() -> Vec<Stage> {
    vec![
        Stage { name: "sweeps", what: "casts over every f32, in release", run: sweeps },
        Stage {
            name: "sanitizer",
            what: "the CPU backend under the address sanitizer",
            run: sanitizer,
        },
    ]
}

fn sweeps() -> Result<Outcome> {
    tally::run(
        &Cargo::line("test --release --package binade-core --all-features").var("BINADE_FULL", "1"),
    )
}

/// Over the CPU backend, whose loops may hold `unsafe`. The target is named, so that build scripts are built without the sanitizer.
fn sanitizer() -> Result<Outcome> {
    let Some(host) = nightly_host() else {
        return Ok(Outcome::Skipped(
            "no nightly toolchain: rustup toolchain install nightly --profile minimal".into(),
        ));
    };
    let call = Cargo::line(
        "+nightly test --package binade-cpu --lib --tests --target-dir target/sanitizer --target",
    );
    tally::run(&call.args([host]).var("RUSTFLAGS", "-Zsanitizer=address"))
}

/// The triple that nightly builds for, or nothing where there is no nightly.
fn nightly_host() -> Option<String> {
    let version = Cargo::line("+nightly version --verbose").read().ok()?;
    version.lines().find_map(|line| line.strip_prefix("host: ")).map(String::from)
}
