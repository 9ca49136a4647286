//! Binade's devices as the kit's subjects, a file each.

mod cpu;
mod cuda;
mod deferred;
mod wgpu;

pub use cpu::Cpu;
pub use cuda::{Cuda, OpenError};
pub use deferred::Deferred;
pub use wgpu::Wgpu;
