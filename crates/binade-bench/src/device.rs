//! The devices that a command line can name.

use crate::subject::{self, NOT_YET, OpenError};
use binade_conformance::{Report, Runner};
use clap::ValueEnum;

/// A device, or all of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Device {
    /// `binade-cpu`, the reference.
    Cpu,
    /// `binade-deferred`: the CPU run late, which counts reads.
    Deferred,
    /// `binade-cuda` on the first NVIDIA GPU.
    Cuda,
    /// `binade-cuda` on the PTX interpreter in the driver's place.
    Ptx,
    /// Each that needs neither a GPU nor anything in a driver's place: cpu and deferred.
    All,
}

impl Device {
    /// Runs the kit on it, or on each of them.
    ///
    /// # Errors
    ///
    /// When the device cannot be opened.
    pub fn run(self, runner: &Runner) -> Result<Vec<Report>, OpenError> {
        Ok(match self {
            Self::Cpu => vec![runner.run(&subject::Cpu)],
            Self::Deferred => vec![runner.run(&subject::Deferred::default())],
            Self::Cuda => vec![excused(runner).run(&subject::Cuda::gpu()?)],
            Self::Ptx => vec![excused(runner).run(&subject::Cuda::interpreter()?)],
            Self::All => [Self::Cpu.run(runner)?, Self::Deferred.run(runner)?].concat(),
        })
    }
}

/// Lists as such what the CUDA backend does not have yet, also where the device is required.
fn excused(runner: &Runner) -> Runner {
    let runner = runner.clone().excuse(
        "scaled_f16/",
        "the CUDA backend has no f16 masters: their exponent needs a second pass",
    );
    NOT_YET.into_iter().fold(runner, |runner, operation| {
        runner.excuse(operation, "the CUDA backend does not have all operations of binade-ops yet")
    })
}
