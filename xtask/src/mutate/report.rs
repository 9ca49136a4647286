//! The outcome of one kernel's changes.

use std::fmt;

use super::{Change, trial::Outcome};

/// The share of changes that must be noticed, of those that make a difference.
const ENOUGH: f64 = 0.95;

/// Counts, and the changes that nobody noticed.
pub(super) struct Report {
    kernel: String,
    parts: String,
    caught: usize,
    equivalent: usize,
    refused: usize,
    survivors: Vec<String>,
    is_reached: bool,
}

impl Report {
    pub(super) fn new(kernel: &str, parts: &[String]) -> Self {
        Self {
            kernel: kernel.to_owned(),
            parts: parts.join(" "),
            caught: 0,
            equivalent: 0,
            refused: 0,
            survivors: Vec::new(),
            is_reached: true,
        }
    }

    /// The program that runs the kit does not hold the kernel.
    pub(super) fn unreached(self) -> Self {
        Self { is_reached: false, ..self }
    }

    pub(super) fn equivalent(&mut self, change: &Change, reason: &str) {
        println!("  {}: {change}: makes no difference: {reason}", self.kernel);
        self.equivalent += 1;
    }

    pub(super) fn add(&mut self, change: &Change, outcome: &Outcome) {
        let told = match outcome {
            Outcome::Caught(by) => {
                self.caught += 1;
                format!("caught: {by}")
            }
            Outcome::Refused => {
                self.refused += 1;
                "no kernel".to_owned()
            }
            Outcome::Survived => self.survivor(change, "survived"),
            Outcome::NeverRan => self.survivor(change, "never ran"),
        };
        println!("  {}: {change}: {told}", self.kernel);
    }

    fn survivor(&mut self, change: &Change, why: &str) -> String {
        self.survivors.push(format!("{change}: {why}"));
        why.to_owned()
    }

    /// Returns true where at least 95 % of the changes were caught, or there were none.
    #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
    pub(super) fn is_enough(&self) -> bool {
        self.caught as f64 >= ENOUGH * (self.caught + self.survivors.len()) as f64
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_reached {
            return write!(f, "{}: no case of the kit loads it", self.kernel);
        }
        let (caught, survived) = (self.caught, self.survivors.len());
        write!(f, "{}: {caught} of {} caught by {}", self.kernel, caught + survived, self.parts)?;
        for (count, what) in
            [(self.equivalent, "make no difference"), (self.refused, "are no kernels")]
        {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        self.survivors.iter().try_for_each(|survivor| write!(f, "\n  not caught: {survivor}"))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: `{}` becomes `{}`", self.line, self.before, self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninety_five_percent_of_what_makes_a_difference_are_enough() {
        let change = Change { line: 7, before: "add".into(), after: "sub".into() };
        let mut report = Report::new("sgd", &["sgd/".to_owned()]);
        (0..19).for_each(|_| report.add(&change, &Outcome::Caught("sgd/x".into())));
        report.equivalent(&change, "why");
        report.add(&change, &Outcome::Refused);
        report.add(&change, &Outcome::Survived);
        assert!(report.is_enough());
        report.add(&change, &Outcome::NeverRan);
        assert!(!report.is_enough());
        let said = report.to_string();
        assert!(said.starts_with("sgd: 19 of 21 caught by sgd/, 1 make no difference"), "{said}");
        assert!(said.ends_with("line 7: `add` becomes `sub`: never ran"), "{said}");
    }
}
