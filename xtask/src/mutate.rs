//! `cargo xtask mutate`: CUDA kernels with one change each, and the cases of the kit that notice.
//!
//! The packed text of kernels is part of the program that runs the kit. A mutant is a copy of that program in which one text differs, so
//! that nothing is built again and no product code knows of it.

mod kernels;
mod program;
mod ptx;
mod trial;

use std::{collections::BTreeSet, fmt};

use clap::Args;

use crate::Result;

use kernels::Kernel;
use program::{Program, Which};
use trial::{Outcome, Trial};

/// One change of one line, which is counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    line: usize,
    before: String,
    after: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: `{}` becomes `{}`", self.line, self.before, self.after)
    }
}

/// Changes CUDA kernels at random, one instruction at a time, runs them on the PTX interpreter, and tells which changes no case of the kit notices.
#[derive(Args)]
pub(crate) struct Mutate {
    /// Name of a kernel's file; all kernels where none is named. May be repeated.
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Seed of the random numbers: the same seed draws the same changes.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of changes of each kernel.
    #[arg(long, default_value_t = 40)]
    count: usize,
}

impl Mutate {
    pub(crate) fn run(self) -> Result<()> {
        let kernels = kernels::named(&self.kernel)?;
        let parts: Vec<_> = kernels.iter().flat_map(|kernel| &kernel.parts).collect();
        let needed = Which::ALL.into_iter().filter(|it| parts.iter().any(|part| it.runs(part)));
        let programs: Vec<_> = needed.map(Program::built).collect::<Result<_>>()?;
        let mut missed = Vec::new();
        for kernel in &kernels {
            if !self.is_held(kernel, &programs)? {
                missed.push(kernel.name.as_str());
            }
        }
        if missed.is_empty() {
            return Ok(());
        }
        Err(format!("{}: less than 80 % of the changes were noticed", missed.join(", ")).into())
    }

    /// Tries the changes of one kernel, prints the outcome of each, and returns true if enough were noticed.
    fn is_held(&self, kernel: &Kernel, programs: &[Program]) -> Result<bool> {
        let name = &kernel.name;
        if kernel.parts.is_empty() {
            println!("{name}: no case of the kit loads it");
            return Ok(true);
        }
        let trial = Trial::of(kernel, programs)?;
        let mut outcomes = Vec::new();
        for change in self.changes(kernel) {
            let outcome = trial.outcome(&change)?;
            println!("  {name}: {change}: {outcome}");
            outcomes.push(outcome);
        }
        let (told, is_enough) = summary(&outcomes);
        println!("{name}: {told} by {}", kernel.parts.join(" "));
        Ok(is_enough)
    }

    /// As many different changes as are asked for, or as a few hundred draws give.
    fn changes(&self, kernel: &Kernel) -> Vec<Change> {
        let all = ptx::lines(&kernel.text);
        let mut draw = Draw::new(self.seed, &kernel.name);
        let mut drawn = BTreeSet::new();
        let any = |_| draw.one(&all).and_then(|of_line| draw.one(of_line));
        let changes = (0..self.count * 20).filter_map(any);
        changes.filter(|it| drawn.insert(*it)).take(self.count).cloned().collect()
    }
}

/// Returns the counts in words, and true where at least 80 % of the changes were caught. The others are for the reader to judge: some
/// changes make no difference, such as that of a sign of zero.
fn summary(outcomes: &[Outcome]) -> (String, bool) {
    let count = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| is(outcome)).count();
    let caught = count(|it| matches!(it, Outcome::Caught(_)));
    let missed = count(|it| matches!(it, Outcome::Survived | Outcome::NeverRan));
    let refused = count(|it| matches!(it, Outcome::Refused));
    let all = caught + missed;
    let told = format!("{caught} of {all} caught, {refused} are no kernels,");
    (told, 5 * caught >= 4 * all)
}

/// Random numbers that are the same on every machine (Steele, Lea, Flood: `SplitMix64`), a stream for each seed and kernel.
struct Draw(u64);

impl Draw {
    fn new(seed: u64, name: &str) -> Self {
        let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(name.bytes().fold(seed, step))
    }

    /// Returns any of `items`; nothing of none.
    fn one<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(items.len()).ok().filter(|count| *count > 0)?;
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        items.get(usize::try_from((word ^ word >> 31) % count).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_name_draw_the_same_each_time_and_others_differ() {
        let drawn = |seed, name| {
            let (mut draw, items) = (Draw::new(seed, name), (0..1000).collect::<Vec<u32>>());
            (0..8).filter_map(|_| draw.one(&items).copied()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1, "sgd"), drawn(1, "sgd"));
        assert!(drawn(1, "sgd") != drawn(2, "sgd") && drawn(1, "sgd") != drawn(1, "clip"));
    }

    #[test]
    fn four_of_five_are_enough() {
        let mut outcomes = vec![Outcome::Caught("sgd/x".into()); 4];
        outcomes.extend([Outcome::Refused, Outcome::Survived]);
        let (told, is_enough) = summary(&outcomes);
        assert!(is_enough && told.starts_with("4 of 5 caught, 1 are"), "{told}");
        outcomes.push(Outcome::NeverRan);
        assert!(!summary(&outcomes).1 && summary(&[]).1);
    }
}
