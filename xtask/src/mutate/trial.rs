//! One kernel's mutants against the kit, and against the backend's own tests where the kernel serves no contract.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::{
    Change,
    kernels::Kernel,
    program::{Ending, Program},
};
use crate::{Result, coverage};

/// A kernel whose unchanged text passes.
pub(super) struct Trial<'a> {
    kernel: &'a Kernel,
    programs: Vec<&'a Program>,
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
}

impl<'a> Trial<'a> {
    /// Nothing where no case can reach the kernel.
    ///
    /// # Errors
    ///
    /// Where the kernel fails unchanged.
    pub(super) fn of(kernel: &'a Kernel, programs: &'a [Program]) -> Result<Option<Self>> {
        let serves = |program: &&Program| kernel.parts.iter().any(|part| program.runs(part));
        let programs: Vec<_> = programs.iter().filter(serves).collect();
        let Some(program) = programs.first() else { return Ok(None) };
        let folder = program.folder().join("coverage");
        coverage::empty(&folder)?;
        let start = Instant::now();
        for (program, part) in runs(&programs, kernel) {
            let ending =
                program.run(part, kernel.capability, Duration::from_mins(10), Some(&folder))?;
            if ending != Ending::Well {
                return Err(format!("{part} fails with {} unchanged", kernel.name).into());
            }
        }
        // A loop that never ends is noticed; a machine with other work to do is not a fault.
        let limit = start.elapsed() * 5 + Duration::from_secs(20);
        let missed = coverage::merged(&[folder])?.never_ran(&entries(&kernel.text));
        Ok(Some(Self { kernel, programs, missed, limit }))
    }

    pub(super) fn outcome(&mut self, change: &Change) -> Result<Outcome> {
        if self.missed.contains(&change.line) {
            return Ok(Outcome::NeverRan);
        }
        let text = changed(&self.kernel.text, change);
        let programs = || self.programs.iter();
        programs().try_for_each(|program| program.put(&self.kernel.name, &text))?;
        let outcome = self.against_all();
        programs().try_for_each(|program| program.restore())?;
        outcome
    }

    fn against_all(&self) -> Result<Outcome> {
        for (program, part) in runs(&self.programs, self.kernel) {
            match program.run(part, self.kernel.capability, self.limit, None)? {
                Ending::Well => {}
                Ending::TooLate => return Ok(Outcome::Caught("a run without an end".into())),
                Ending::Badly(said) if is_refused(&said) => return Ok(Outcome::Refused),
                Ending::Badly(said) => return Ok(Outcome::Caught(first_failure(&said))),
            }
        }
        Ok(Outcome::Survived)
    }
}

/// Returns the runs of a kernel: each part of its cases by the program that has them.
fn runs<'a>(
    programs: &[&'a Program],
    kernel: &'a Kernel,
) -> impl Iterator<Item = (&'a Program, &'a str)> {
    kernel.parts.iter().filter_map(move |part| {
        let program = programs.iter().find(|program| program.runs(part))?;
        Some((*program, part.as_str()))
    })
}

/// The entries of a PTX text; none of WGSL.
fn entries(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| line.strip_prefix(".visible .entry "));
    names.map(|line| line.trim_end_matches(['(', ')'])).collect()
}

/// Messages by which the PTX loader and the WGSL compiler refuse a text.
fn is_refused(said: &str) -> bool {
    [
        "CUDA_ERROR_INVALID_PTX",
        "Shader parsing error",
        "Shader validation error",
        "In Device::create_shader_module",
    ]
    .iter()
    .any(|sign| said.contains(sign))
}

fn first_failure(said: &str) -> String {
    let failed = said.lines().map(str::trim).find(|line| {
        ["FAILED", "failed"].iter().any(|sign| line.starts_with(sign))
            || line.ends_with("... FAILED")
    });
    failed.unwrap_or("a run that ended badly").chars().take(100).collect()
}

/// The text with the change in it.
fn changed(text: &str, change: &Change) -> String {
    let lines = text.lines().enumerate().map(|(index, line)| {
        let before = if index + 1 == change.line { &change.before } else { "" };
        if before.is_empty() { line.to_owned() } else { line.replacen(before, &change.after, 1) }
    });
    lines.fold(String::new(), |all, line| all + &line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: &str, after: &str) -> Change {
        Change { line: 2, before: before.into(), after: after.into() }
    }

    #[test]
    fn one_line_of_a_changed_text_is_another() {
        let text = "\t{\n\tadd %r9, 9;\n\tret 9;\n}\n";
        let expected = "\t{\n\tadd %r9, 10;\n\tret 9;\n}\n";
        assert_eq!(changed(text, &change(", 9", ", 10")), expected);
    }

    #[test]
    fn the_entries_of_a_text_are_found() {
        assert_eq!(entries(".visible .entry sgd(\n)\n.visible .entry adam()\n"), ["sgd", "adam"]);
    }
}
