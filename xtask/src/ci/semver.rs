//! The stage `semver`: what the last tag promised of the crates that people take alone is still promised, where cargo-semver-checks
//! is installed. It compares rustdoc's account of both, so that a name that is gone is told with its file and line.

use crate::{Result, ci::outcome::Outcome, house, shell::Call};

/// Tags of releases; others, as of an experiment, promise nothing.
const RELEASES: &str = "v[0-9]*";

/// Holds floors 0 and 1 to the newest release that this commit descends from.
pub(crate) fn run() -> Result<Outcome> {
    if !Call::cargo("semver-checks --version").succeeds() {
        let advice = "cargo-semver-checks is not installed: cargo install cargo-semver-checks";
        return Ok(Outcome::Skipped(format!("{advice} --locked")));
    }
    let Some(release) = release() else {
        return Ok(Outcome::Skipped(format!("no tag `{RELEASES}` to compare with")));
    };
    let call = check(&release);
    println!("{call}");
    call.run()?;
    let count = house::small_crates().count();
    Ok(Outcome::Passed(format!("{count} crates keep what {release} has")))
}

/// The newest release before this commit. A shallow clone has none.
fn release() -> Option<String> {
    let call = Call::of("git").args(["describe", "--tags", "--abbrev=0", "--match", RELEASES]);
    call.read().ok().map(|name| name.trim().to_owned())
}

/// All of them in one call, so that what they share is built once for the release and once for now.
fn check(release: &str) -> Call {
    let call = Call::cargo("semver-checks --baseline-rev").args([release]);
    call.args(house::small_crates().flat_map(|name| ["--package", name]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_of_the_lower_floors_is_held_to_the_release() {
        let shown = check("v0.1.0").to_string();
        assert!(shown.starts_with("cargo semver-checks --baseline-rev v0.1.0 --package "));
        for name in house::small_crates() {
            assert!(shown.contains(&format!("--package {name}")), "{name} in {shown}");
        }
    }
}
