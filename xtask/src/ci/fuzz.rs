//! The stage `fuzz`: libFuzzer on each target of `tests/fuzz`, where nightly and cargo-fuzz are installed.

use crate::{
    Result,
    ci::outcome::Outcome,
    shell::{Call, root},
};
use std::{env, fs, path::Path};

/// Where targets are, and their corpora.
const FOLDER: &str = "tests/fuzz";

/// Seconds for each target, unless `BINADE_FUZZ_SECONDS` says otherwise.
const SECONDS: u32 = 60;

/// Runs each target from the corpus that is kept. Inputs it finds go to `target/fuzz-corpus`; one that breaks it fails the
/// stage, and libFuzzer says where it is.
pub(crate) fn run() -> Result<Outcome> {
    if !Call::cargo("+nightly fuzz --version").succeeds() {
        return Ok(Outcome::Skipped(
            "no nightly toolchain with cargo-fuzz: rustup toolchain install nightly --profile minimal && cargo install \
             cargo-fuzz"
                .into(),
        ));
    }
    let seconds = seconds()?;
    let targets = targets(&root().join(FOLDER).join("fuzz_targets"))?;
    for target in &targets {
        let found = format!("target/fuzz-corpus/{target}");
        fs::create_dir_all(root().join(&found))?;
        let call = format!(
            "+nightly fuzz run --fuzz-dir {FOLDER} --target-dir target/fuzz {target} {found} {FOLDER}/corpus/{target} -- \
             -max_total_time={seconds} -print_final_stats=1"
        );
        Call::cargo(&call).run()?;
    }
    Ok(Outcome::Passed(format!("{} targets, {seconds} s each", targets.len())))
}

fn seconds() -> Result<u32> {
    match env::var("BINADE_FUZZ_SECONDS") {
        Err(_) => Ok(SECONDS),
        Ok(text) => text.parse().map_err(|_| {
            format!(
                "BINADE_FUZZ_SECONDS is `{text}`: give whole seconds for each target, such as 600"
            )
            .into()
        }),
    }
}

/// Names of targets, in order.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        names.extend(path.file_stem().and_then(|name| name.to_str()).map(String::from));
    }
    names.sort();
    Ok(names)
}
