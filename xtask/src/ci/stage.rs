//! One stage of `.ci/stages.toml`.

use std::{env, fs};

use serde::Deserialize;

use crate::{
    Result,
    binaries::Binaries,
    ci::{Outcome, tally::Tally},
    device,
    house::{ADAPTERS, small_crates},
    shell::{Call, root},
};

/// One stage; the head of the file says what each key is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Stage {
    pub(super) name: String,
    pub(super) what: String,
    pub(super) needs: Vec<(String, String)>,
    pub(super) on: Option<String>,
    pub(super) calls: Vec<String>,
    pub(super) tests: Vec<String>,
    pub(super) beside: bool,
    pub(super) slow: bool,
}

/// All stages, in their order.
pub(super) fn all() -> Result<Vec<Stage>> {
    #[derive(Deserialize)]
    struct File {
        stage: Vec<Stage>,
    }
    let text = fs::read_to_string(root().join(".ci/stages.toml"))?;
    Ok(toml::from_str::<File>(&text)?.stage)
}

impl Stage {
    /// Runs the stage, unless what it needs is missing, and ends with the first call that fails.
    pub(super) fn run(&self) -> Result<Outcome> {
        for (line, advice) in &self.needs {
            if let Err(error) = call(line)?.read() {
                let told = error.to_string();
                let said = told.lines().last().unwrap_or_default();
                return Ok(Outcome::Skipped(
                    if advice.is_empty() { said } else { advice }.to_owned(),
                ));
            }
        }
        if self.on.as_ref().is_some_and(|on| on.starts_with("ptx")) && !cfg!(target_os = "linux") {
            return Ok(Outcome::Skipped(
                "the stand-in for the driver is found by Linux's loader alone".into(),
            ));
        }
        let (mut tally, mut last) = (Tally::default(), String::new());
        for call in self.found()? {
            let hear = |line: &str| {
                tally.add(line);
                line.clone_into(&mut last);
            };
            if !call.aloud(&self.name, hear)? {
                return Ok(Outcome::Failed(format!("{tally} `{call}`")));
            }
        }
        Ok(match (self.tests.is_empty(), tally.passed) {
            (true, _) => Outcome::Passed(last),
            (_, 0) => Outcome::Failed(format!("{tally}: nothing ran")),
            _ => Outcome::Passed(tally.to_string()),
        })
    }

    /// The calls on their device, with the paths of the binaries that they name.
    fn found(&self) -> Result<Vec<Call>> {
        let lines = self.calls.iter().chain(&self.tests);
        let built = if lines.clone().any(|line| line.contains('@')) {
            Some(Binaries::built()?)
        } else {
            None
        };
        let calls = lines.map(|line| {
            let call = call(line)?;
            let call = built.iter().try_fold(call, |call, built| built.named_in(call))?;
            match self.on.as_deref() {
                None => Ok(call),
                Some("ptx") => Ok(device::on_ptx(false, call)),
                Some("ptx-libraries") => Ok(device::on_ptx(true, call)),
                Some("lavapipe") => Ok(device::on_lavapipe(call)),
                Some("swiftshader") => Ok(device::on_swiftshader(call)),
                Some(other) => Err(format!("no device is called `{other}`").into()),
            }
        });
        calls.collect()
    }
}

/// The call of a line, in which `xtask` is this program and lists of crates stand for their names.
fn call(line: &str) -> Result<Call> {
    // A stage may have built it anew since it started.
    let this = env::current_exe()?.display().to_string().trim_end_matches(" (deleted)").to_owned();
    let small = small_crates().collect::<Vec<_>>().join(" ");
    let line = line.replace("$SMALL_CRATES", &small).replace("$ADAPTERS", &ADAPTERS.join(" "));
    Call::line(&line).map(|word| Ok(if word == "xtask" { this.clone() } else { word }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(needs: &[(&str, &str)], calls: &[&str], tests: &[&str]) -> Outcome {
        let words = |lines: &[&str]| lines.iter().map(ToString::to_string).collect();
        let needs = needs.iter().map(|(call, advice)| (call.to_string(), advice.to_string()));
        let stage = Stage {
            needs: needs.collect(),
            calls: words(calls),
            tests: words(tests),
            ..Stage::default()
        };
        stage.run().unwrap()
    }

    #[test]
    fn a_stage_is_skipped_with_the_advice_or_else_with_what_was_said() {
        let skipped = |why: &str| Outcome::Skipped(why.into());
        assert_eq!(
            ended(&[("cargo no-such", "install it")], &["false"], &[]),
            skipped("install it")
        );
        assert_eq!(
            ended(&[("sh -c 'echo none >&2; exit 1'", "")], &["false"], &[]),
            skipped("none")
        );
    }

    #[test]
    fn a_call_that_fails_is_named_and_tests_of_which_none_ran_fail() {
        let failed = |outcome| matches!(outcome, Outcome::Failed(why) if why.contains("`false`") || why.ends_with("nothing ran"));
        assert!(failed(ended(&[("true", "")], &["true", "false"], &[])));
        assert!(failed(ended(&[], &[], &["true"])));
        assert_eq!(ended(&[], &["echo a b"], &[]), Outcome::Passed("a b".into()));
        let one = ended(&[], &[], &["echo test result: ok. 1 passed; 0 failed; 2 ignored"]);
        assert_eq!(one, Outcome::Passed("1 passed, 0 failed, 2 skipped".into()));
    }
}
