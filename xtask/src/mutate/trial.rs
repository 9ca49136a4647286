//! One kernel's mutants against the kit, and against the backend's own tests where the kernel serves no contract.

use std::{
    collections::BTreeSet,
    fmt,
    time::{Duration, Instant},
};

use super::{
    Change,
    kernels::Kernel,
    program::{Program, Which},
};
use crate::{Result, coverage};

/// A kernel whose unchanged text passes.
pub(super) struct Trial<'a> {
    kernel: &'a Kernel,
    /// Each program that has cases of its, with the parts of their names.
    runs: Vec<(&'a Program, Vec<&'a str>)>,
    /// Lines that no case ran; empty where nobody can tell.
    missed: BTreeSet<usize>,
    limit: Duration,
}

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// By the first case that failed, or the way in which the run ended.
    Caught(String),
    Survived,
    /// No case runs the line.
    NeverRan,
    /// The text is refused when it is loaded, so that it is no mutant.
    Refused,
    /// It need not be noticed, for a reason.
    Equivalent(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(by) => write!(f, "caught: {by}"),
            Self::Survived => f.write_str("NOT CAUGHT: survived"),
            Self::NeverRan => f.write_str("NOT CAUGHT: never ran"),
            Self::Refused => f.write_str("no kernel"),
            Self::Equivalent(reason) => write!(f, "makes no difference: {reason}"),
        }
    }
}

impl<'a> Trial<'a> {
    /// Nothing where no case can reach the kernel.
    ///
    /// # Errors
    ///
    /// Where the kernel fails unchanged.
    pub(super) fn of(kernel: &'a Kernel, programs: &'a [Program]) -> Result<Option<Self>> {
        let run = |program: &'a Program| {
            let parts = kernel.parts.iter().map(String::as_str);
            (program, parts.filter(|part| Which::of(part) == program.which).collect::<Vec<_>>())
        };
        let mut runs: Vec<_> = programs.iter().map(run).collect();
        runs.retain(|(_, parts)| !parts.is_empty());
        let Some((first, _)) = runs.first() else { return Ok(None) };
        let folder = first.folder.join("coverage");
        coverage::empty(&folder)?;
        let start = Instant::now();
        let pairs =
            runs.iter().flat_map(|(program, parts)| parts.iter().map(move |it| (program, it)));
        for (program, part) in pairs {
            let limit = Duration::from_mins(10);
            if program.run(part, kernel.capability, limit, Some(&folder))? != Outcome::Survived {
                return Err(format!("{part} fails with {} unchanged", kernel.name).into());
            }
        }
        // A loop that never ends is noticed; a machine with other work to do is not a fault.
        let limit = start.elapsed() * 5 + Duration::from_secs(20);
        let entries: Vec<_> = coverage::entries(&kernel.text).collect();
        let missed = coverage::merged(&[folder])?.never_ran(&entries);
        Ok(Some(Self { kernel, runs, missed, limit }))
    }

    pub(super) fn outcome(&self, change: &Change) -> Result<Outcome> {
        if self.missed.contains(&change.line) {
            return Ok(Outcome::NeverRan);
        }
        let text = changed(&self.kernel.text, change);
        for (program, parts) in &self.runs {
            program.put(&self.kernel.name, &text)?;
            let outcome = self.against(program, parts);
            program.restore()?;
            match outcome? {
                Outcome::Survived => {}
                outcome => return Ok(outcome),
            }
        }
        Ok(Outcome::Survived)
    }

    fn against(&self, program: &Program, parts: &[&str]) -> Result<Outcome> {
        for part in parts {
            let outcome = program.run(part, self.kernel.capability, self.limit, None)?;
            if outcome != Outcome::Survived {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Survived)
    }
}

/// The text with the change in it.
fn changed(text: &str, change: &Change) -> String {
    let lines = text.lines().enumerate().map(|(index, line)| {
        let is_changed = index + 1 == change.line;
        if is_changed { line.replacen(&change.before, &change.after, 1) } else { line.to_owned() }
    });
    lines.fold(String::new(), |all, line| all + &line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_of_a_changed_text_is_another() {
        let change = Change { line: 2, before: ", 9".into(), after: ", 10".into() };
        let text = "\t{\n\tadd %r9, 9;\n\tret 9;\n}\n";
        assert_eq!(changed(text, &change), "\t{\n\tadd %r9, 10;\n\tret 9;\n}\n");
    }
}
