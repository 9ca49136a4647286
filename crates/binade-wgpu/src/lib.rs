#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod autocast;
mod counters;
mod dispatch;
mod driver;
mod error;
mod faults;
mod gradients;
mod health;
mod limits;
mod masters;
mod memory;
mod multi_tensor;
mod open;
mod ops;
mod readback;
mod scaler;
mod shaders;
mod transfer;
mod wgpu;

pub use self::wgpu::Wgpu;
pub use binade_gpu::MemoryUse;
pub use counters::DeviceCounters;
pub use error::{Error, WgpuError};
pub use limits::DeviceLimits;
pub use open::Options;

type Result<T = (), E = Error> = std::result::Result<T, E>;

binade_gpu::implement_device!(Wgpu);
