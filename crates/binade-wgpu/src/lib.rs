#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod autocast;
mod dispatch;
mod error;
mod facts;
mod faults;
mod health;
mod ledger;
mod memory;
mod open;
mod ops;
mod shaders;
mod tensor;
mod transfer;
mod wgpu;

pub use self::wgpu::Wgpu;
pub use error::Error;
pub use facts::Facts;
pub use ledger::Ledger;
pub use memory::MemoryUse;
pub use open::Options;
pub use tensor::Tensor;
