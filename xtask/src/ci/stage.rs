//! One stage of `.ci/stages.toml`.

use std::{env, fs};

use serde::Deserialize;

use crate::{
    Result,
    binaries::Binaries,
    ci::report::{Outcome, Tally},
    device,
    shell::{Call, root},
};

/// One stage; the head of the file says what each key is.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Stage {
    pub(super) name: String,
    pub(super) what: String,
    needs: Vec<(String, String)>,
    on: Option<String>,
    calls: Vec<String>,
    tests: Vec<String>,
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
                let why = if advice.is_empty() { said } else { advice };
                return Ok(Outcome::Skipped(why.to_owned()));
            }
        }
        if self.is_on_ptx() && !cfg!(target_os = "linux") {
            let why = "the stand-in for the driver is found by Linux's loader alone";
            return Ok(Outcome::Skipped(why.into()));
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

    /// Returns true if the calls find the PTX interpreter, with stand-ins for libraries beside it or without.
    fn is_on_ptx(&self) -> bool {
        self.on.as_ref().is_some_and(|on| on.starts_with("ptx"))
    }

    /// The calls on their device, with the paths of the binaries that they name.
    fn found(&self) -> Result<Vec<Call>> {
        let lines: Vec<_> = self.calls.iter().chain(&self.tests).collect();
        // The interpreter too is one of this build: built alone, it has other features, and then both are built twice.
        let is_built = self.is_on_ptx() || lines.iter().any(|line| line.contains('@'));
        let built = is_built.then(Binaries::built).transpose()?;
        let calls = lines.into_iter().map(|line| {
            let line = built.iter().try_fold(line.clone(), |line, it| it.named_in(&line))?;
            let call = call(&line)?;
            self.on.iter().try_fold(call, |call, device| device::on(device, &call))
        });
        calls.collect()
    }
}

/// The call of a line, in which `xtask` is this program.
fn call(line: &str) -> Result<Call> {
    // A stage may have built it anew since it started.
    let this = env::current_exe()?.display().to_string().trim_end_matches(" (deleted)").to_owned();
    let arguments = line.strip_prefix("xtask ");
    Ok(arguments.map_or_else(|| Call::line(line), |it| Call::line(format!("'{this}' {it}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(needs: &[(&str, &str)], calls: &[&str], tests: &[&str]) -> Outcome {
        let words = |lines: &[&str]| lines.iter().map(ToString::to_string).collect();
        let needs = needs.iter().map(|(call, advice)| (call.to_string(), advice.to_string()));
        let (needs, calls, tests) = (needs.collect(), words(calls), words(tests));
        Stage { needs, calls, tests, ..Stage::default() }.run().unwrap()
    }

    #[test]
    fn a_stage_is_skipped_with_the_advice_or_else_with_what_was_said() {
        let advised = ended(&[("cargo no-such", "install it")], &["false"], &[]);
        assert_eq!(advised, Outcome::Skipped("install it".into()));
        let said = ended(&[("echo none >&2; exit 1", "")], &["false"], &[]);
        assert_eq!(said, Outcome::Skipped("none".into()));
    }

    #[test]
    fn a_call_that_fails_is_named_and_tests_of_which_none_ran_fail() {
        let failed = |outcome| matches!(outcome, Outcome::Failed(why) if why.contains("`false`") || why.ends_with("nothing ran"));
        assert!(failed(ended(&[("true", "")], &["true", "false"], &[])));
        assert!(failed(ended(&[], &[], &["true"])));
        assert_eq!(ended(&[], &["echo a b"], &[]), Outcome::Passed("a b".into()));
        let one = ended(&[], &[], &["echo 'test result: ok. 1 passed; 0 failed; 2 ignored'"]);
        assert_eq!(one, Outcome::Passed("1 passed, 0 failed, 2 skipped".into()));
    }
}
