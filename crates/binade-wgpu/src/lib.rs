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

type Result<T = (), E = Error> = std::result::Result<T, E>;

binade_gpu::implement_device!(Wgpu);
