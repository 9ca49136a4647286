//! Device memory, and buffers that the host can read, which go round.

mod allocation;
mod staging;

pub(crate) use allocation::Allocation;
pub(crate) use staging::{Ring, Staging};

/// A buffer of the pool.
pub(crate) type Buffer = binade_gpu::Buffer<Allocation>;
/// Buffers that are not in use.
pub(crate) type Pool = binade_gpu::Pool<Allocation>;
