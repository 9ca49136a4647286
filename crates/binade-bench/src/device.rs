//! The devices that a command line can name.

use crate::subject;
use binade_conformance::{Report, Runner};
use clap::ValueEnum;

/// A device, or all of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Device {
    /// `binade-cpu`, the reference.
    Cpu,
    /// `binade-deferred`: the CPU run late, which counts reads.
    Deferred,
    /// Each of the others in turn.
    All,
}

impl Device {
    /// Runs the kit on it, or on each of them.
    pub fn run(self, runner: &Runner) -> Vec<Report> {
        match self {
            Self::Cpu => vec![runner.run(&subject::Cpu)],
            Self::Deferred => vec![runner.run(&subject::Deferred::default())],
            Self::All => [Self::Cpu, Self::Deferred].map(|one| one.run(runner)).concat(),
        }
    }
}
