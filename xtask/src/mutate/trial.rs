//! One kernel's mutants against the kit, and against the backend's own tests where the kernel serves no contract.

use std::{
    collections::BTreeSet,
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use super::{Change, kernels::Kernel, program::Program};
use crate::{Result, coverage};

/// A kernel whose unchanged text passes.
pub(super) struct Trial<'a> {
    kernel: &'a Kernel,
    programs: &'a [Program],
    /// Lines that no case ran.
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
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(by) => write!(f, "caught: {by}"),
            Self::Survived => f.write_str("NOT CAUGHT: survived"),
            Self::NeverRan => f.write_str("NOT CAUGHT: never ran"),
            Self::Refused => f.write_str("no kernel"),
        }
    }
}

impl<'a> Trial<'a> {
    /// Runs the kernel's cases.
    ///
    /// # Errors
    ///
    /// If the kernel fails unchanged.
    pub(super) fn of(kernel: &'a Kernel, programs: &'a [Program]) -> Result<Self> {
        let folder = programs[0].folder.join("coverage");
        coverage::empty(&folder)?;
        let (start, limit) = (Instant::now(), Duration::from_mins(10));
        let mut trial = Self { kernel, programs, missed: BTreeSet::new(), limit };
        for part in &kernel.parts {
            if trial.run(part, None, Some(&folder))? != Outcome::Survived {
                return Err(format!("{part} fails with {} unchanged", kernel.name).into());
            }
        }
        // A loop that never ends is noticed; a machine with other work to do is not a fault.
        trial.limit = start.elapsed() * 5 + Duration::from_mins(1);
        let entries: Vec<_> = coverage::entries(&kernel.text).collect();
        trial.missed = coverage::merged(&[folder])?.never_ran(&entries);
        Ok(trial)
    }

    /// Tries a change.
    pub(super) fn outcome(&self, change: &Change) -> Result<Outcome> {
        if self.missed.contains(&change.line) {
            return Ok(Outcome::NeverRan);
        }
        let changed = changed(&self.kernel.text, change);
        let packed = self.programs[0].packed(&self.kernel.name, &changed)?;
        for part in &self.kernel.parts {
            let outcome = self.run(part, Some(&packed), None)?;
            if outcome != Outcome::Survived {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Survived)
    }

    fn run(&self, part: &str, packed: Option<&[u8]>, coverage: Option<&Path>) -> Result<Outcome> {
        let program = self.programs.iter().find(|it| it.which.runs(part));
        let program = program.ok_or_else(|| format!("no program runs {part}"))?;
        program.run(part, packed, self.kernel, self.limit, coverage)
    }
}

/// The text with the change in it.
fn changed(text: &str, change: &Change) -> String {
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines[change.line - 1] = lines[change.line - 1].replacen(&change.before, &change.after, 1);
    lines.join("\n") + "\n"
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
