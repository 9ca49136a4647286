//! `cargo xtask mutate --device ptx|wgpu`: kernels with one change each, and the cases of the kit that notice.
//!
//! The packed text of kernels is part of the program that runs the kit. A mutant is a copy of that program in which one text differs, so
//! that nothing is built again and no product code knows of it.

mod draw;
mod kernels;
mod known;
mod program;
mod ptx;
mod report;
mod trial;
mod wgsl;

use clap::{Args, ValueEnum};

use crate::Result;

use {
    draw::Draw,
    kernels::Kernel,
    program::{Program, Which},
    report::Report,
    trial::Trial,
};

/// Whose kernels are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Device {
    /// The CUDA backend's, on the PTX interpreter.
    Ptx,
    /// The wgpu backend's, on the adapter that there is.
    Wgpu,
}

impl Device {
    /// The file that the kernels are packed into, from the root.
    fn packed(self) -> &'static str {
        match self {
            Self::Ptx => crate::kernels::PACKED,
            Self::Wgpu => crate::shaders::PACKED,
        }
    }
}

/// One change of one line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    /// From 1.
    line: usize,
    before: String,
    after: String,
}

/// Changes kernels at random, one instruction or token at a time, and tells which changes no case of the kit notices.
#[derive(Args)]
pub(crate) struct Mutate {
    /// Whose kernels.
    #[arg(long, value_enum)]
    device: Device,
    /// The kernel's name, as its file's; all of them where none is named. May be repeated.
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Where random numbers begin: the same seed draws the same changes.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many changes of each kernel are tried.
    #[arg(long, default_value_t = 40)]
    count: usize,
}

impl Mutate {
    pub(crate) fn run(self) -> Result<()> {
        let kernels = kernels::named(self.device, &self.kernel)?;
        let mut programs = vec![Program::built(self.device, Which::Kit)?];
        let parts = || kernels.iter().flat_map(|kernel| &kernel.parts);
        for which in [Which::Tests, Which::Units] {
            if parts().any(|part| which.runs(part)) {
                programs.push(Program::built(self.device, which)?);
            }
        }
        let mut missed = Vec::new();
        for kernel in &kernels {
            let report = self.of_kernel(kernel, &programs)?;
            println!("{report}");
            if !report.is_enough() {
                missed.push(kernel.name.clone());
            }
        }
        if missed.is_empty() {
            return Ok(());
        }
        Err(format!("{}: less than 95 % of the changes were noticed", missed.join(", ")).into())
    }

    fn of_kernel(&self, kernel: &Kernel, programs: &[Program]) -> Result<Report> {
        let mut report = Report::new(&kernel.name, &kernel.parts);
        let Some(mut trial) = Trial::of(kernel, programs)? else { return Ok(report.unreached()) };
        let known = known::of(self.device, &kernel.name)?;
        for change in self.changes(kernel) {
            let reason =
                known.iter().find(|row| row.change == change).map(|row| row.reason.clone());
            if let Some(reason) = reason {
                report.equivalent(&change, &reason);
            } else {
                report.add(&change, &trial.outcome(&change)?);
            }
        }
        Ok(report)
    }

    /// As many different changes as are asked for, or as a few hundred draws give.
    fn changes(&self, kernel: &Kernel) -> Vec<Change> {
        let all = match self.device {
            Device::Ptx => ptx::lines(&kernel.text),
            Device::Wgpu => wgsl::lines(&kernel.text),
        };
        let mut draw = Draw::new(self.seed, &kernel.name);
        let mut changes: Vec<Change> = Vec::new();
        for _ in 0..self.count * 20 {
            let drawn = draw.one(&all).and_then(|of_line| draw.one(of_line));
            match drawn {
                Some(change) if changes.len() < self.count && !changes.contains(change) => {
                    changes.push(change.clone());
                }
                _ => {}
            }
        }
        changes
    }
}
