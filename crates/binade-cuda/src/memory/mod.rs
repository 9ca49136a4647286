//! Device memory: buffers that go back to a pool, pinned host memory that goes round, and tables that are kept.

mod buffer;
mod meter;
mod pinned;
mod pool;
mod tables;

pub(crate) use buffer::{Buffer, is_alone};
pub use meter::MemoryUse;
pub(crate) use pinned::{Pinned, Ring};
pub(crate) use pool::{Memory, Pool};
pub(crate) use tables::Tables;
