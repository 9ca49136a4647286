//! Binade's devices as the kit's subjects, a file each.

mod cpu;
mod deferred;

pub use cpu::Cpu;
pub use deferred::Deferred;
