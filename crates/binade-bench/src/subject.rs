//! Binade's devices as the kit's subjects, a file each.

mod cpu;
mod cuda;
mod deferred;

pub use cpu::Cpu;
pub use cuda::{Cuda, OpenError};
pub use deferred::Deferred;
