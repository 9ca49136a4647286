#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod autocast;
mod dispatch;
mod driver;
mod error;
mod facts;
mod faults;
mod gradients;
mod health;
mod host;
mod ledger;
mod masters;
mod memory;
mod open;
mod ops;
mod scaler;
mod sent;
mod shaders;
mod transfer;
mod wgpu;

pub use self::wgpu::Wgpu;
pub use binade_gpu::MemoryUse;
pub use error::{Error, WgpuError};
pub use facts::Facts;
pub use ledger::Ledger;
pub use open::Options;
pub use scaler::Scale;

/// A tensor in device memory.
pub type Tensor = binade_gpu::Tensor<Wgpu>;
/// Gradients by parameter, and the factors that are still to be multiplied in.
pub type Gradients = binade_gpu::Gradients<Wgpu>;
/// The finding of a pass over gradients, on the device.
pub type Found = binade_gpu::Found<Wgpu>;
/// Masters, moments and counts of applied steps on the device.
pub type Masters = binade_gpu::Masters<Wgpu>;
