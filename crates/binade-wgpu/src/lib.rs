#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod autocast;
mod dispatch;
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
mod tensor;
mod transfer;
mod wgpu;

pub use self::wgpu::Wgpu;
pub use error::Error;
pub use facts::Facts;
pub use gradients::Gradients;
pub use ledger::Ledger;
pub use masters::Masters;
pub use memory::MemoryUse;
pub use open::Options;
pub use scaler::{Found, Scale};
pub use tensor::Tensor;
