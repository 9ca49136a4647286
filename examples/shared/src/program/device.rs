//! Devices by the names that the command line has for them.

use super::Result;
use binade::core::{Handle, Named, ops::Ops};
use binade::master_weights::{MasterWeights, Snapshot};
use binade_cpu::Cpu;
#[cfg(feature = "cuda")]
use binade_cuda::Cuda;
use binade_tape::{Device, ScalingDevice};
#[cfg(feature = "wgpu")]
use binade_wgpu::Wgpu;
use clap::ValueEnum;

/// Device that has what the models and their training need.
#[rustfmt::skip]
pub trait Trains:
    Device + Ops + ScalingDevice
    + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>> + Snapshot
{
}

#[rustfmt::skip]
impl<D> Trains for D where
    D: Device + Ops + ScalingDevice
    + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>> + Snapshot
{
}

/// Device to train on.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum DeviceKind {
    /// The CPU reference.
    Cpu,
    /// An NVIDIA GPU; built with --features cuda.
    Cuda,
    /// Any GPU, by wgpu; built with --features wgpu.
    Wgpu,
}

/// Work on a device of any type.
pub trait OnDevice {
    /// Does the work.
    ///
    /// # Errors
    ///
    /// If the work fails.
    fn on<D: Trains>(self, device: &D) -> Result<()>;
}

/// Opens the device and does `work` on it; `example` is the program's name.
///
/// # Errors
///
/// If the program was built without the device, it cannot be opened, or the work fails.
#[cfg_attr(
    all(feature = "cuda", feature = "wgpu"),
    expect(unused_variables, reason = "no device is missing")
)]
pub fn open(kind: DeviceKind, example: &str, work: impl OnDevice) -> Result<()> {
    match kind {
        DeviceKind::Cpu => work.on(&Cpu),
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda => work.on(&opened("cuda", Cuda::open(0))?),
        #[cfg(feature = "wgpu")]
        DeviceKind::Wgpu => work.on(&opened("wgpu", Wgpu::open())?),
        #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
        device => Err(not_built(example, &format!("{device:?}").to_lowercase()).into()),
    }
}

#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn opened<D, E: std::fmt::Display>(name: &str, device: Result<D, E>) -> Result<D> {
    device.map_err(|error| format!("--device {name}: {error}").into())
}

/// Returns the message of a device that the program was built without; its name is its feature's.
pub fn not_built(example: &str, device: &str) -> String {
    format!(
        "--device {device}: this program was built without it; run `cargo run --release --example {example} --features \
         {device} -- --device {device}`, and the other arguments behind it"
    )
}
