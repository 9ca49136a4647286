//! Devices that a command line can name.

use crate::subject::{self, OpenError};
use binade_conformance::{Report, Runner};
use clap::ValueEnum;

/// Device to run the kit on.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Device {
    /// `binade-cpu`, the reference.
    Cpu,
    /// `binade-cuda` on the first NVIDIA GPU.
    Cuda,
    /// `binade-cuda` on the PTX interpreter in the driver's place.
    Ptx,
    /// `binade-wgpu` on the adapter that there is.
    Wgpu,
}

impl Device {
    /// Runs the kit on the device.
    ///
    /// # Errors
    ///
    /// If the device cannot be opened.
    pub fn run(self, runner: &Runner) -> Result<Report, OpenError> {
        let runner = &without_strides(runner);
        Ok(match self {
            Self::Cpu => runner.run(&subject::Cpu),
            Self::Cuda => on_cuda(runner, &subject::Cuda::gpu()?)?,
            Self::Ptx => on_cuda(runner, &subject::Cuda::interpreter()?)?,
            #[cfg(feature = "wgpu")]
            Self::Wgpu => on_wgpu(runner, &subject::Wgpu::open()?),
            #[cfg(not(feature = "wgpu"))]
            Self::Wgpu => return Err(OpenError::NotBuilt("wgpu")),
        })
    }

    /// Runs the kit on the device with `f32` products by TF32, under the kit's agreement for TF32.
    ///
    /// # Errors
    ///
    /// If the device cannot be opened, or has no TF32.
    pub fn run_by_tf32(self, runner: &Runner) -> Result<Report, OpenError> {
        let cuda = match self {
            Self::Cuda => subject::Cuda::gpu()?,
            Self::Ptx => subject::Cuda::interpreter()?,
            _ => return Err(OpenError::NoTf32 { by: "another device".into() }),
        };
        on_cuda(&without_strides(runner), &cuda.by_tf32()?)
    }
}

/// Excuses the cases of strided views, which no tensor of these devices can be.
fn without_strides(runner: &Runner) -> Runner {
    runner.clone().excuse(subject::STRIDED_VIEWS, "its tensors lie row after row, without strides")
}

/// Runs the kit, and excuses cases that the GPU itself cannot run, also where the device is required.
fn on_cuda(runner: &Runner, cuda: &subject::Cuda) -> Result<Report, OpenError> {
    let lacking = cuda.lacking()?.iter();
    let runner = lacking.fold(runner.clone(), |runner, cases| {
        runner.excuse(*cases, "Tensor Cores multiply bf16 from compute capability 8.0 on")
    });
    Ok(runner.run(cuda))
}

/// Runs the kit, and excuses cases of types that this backend stores and does not compute in.
#[cfg(feature = "wgpu")]
fn on_wgpu(runner: &Runner, wgpu: &subject::Wgpu) -> Report {
    let runner = subject::Wgpu::LACKING.iter().fold(runner.clone(), |runner, cases| {
        runner.excuse(*cases, "eight bits are stored and cast, and computed with in no operation")
    });
    runner.run(wgpu)
}
