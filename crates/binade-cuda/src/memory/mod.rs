//! Device memory: buffers that go back to a pool, pinned host memory that goes round, and tables that are kept.

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
