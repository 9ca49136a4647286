//! Device memory: buffers of a pool, a ring of pinned host memory, and cached tables.

mod allocation;
mod pinned;
mod tables;

pub(crate) use allocation::{Memory, view, view_mut};
pub(crate) use pinned::{Pinned, Ring};
pub(crate) use tables::Tables;

/// A buffer of the pool.
pub(crate) type Buffer = binade_gpu::Buffer<Memory>;
/// Buffers that are not in use.
pub(crate) type Pool = binade_gpu::Pool<Memory>;
