//! Device memory: buffers that go back to a pool when they are dropped.

mod buffer;
mod pool;

pub use buffer::{Buffer, is_alone};
pub use pool::{Addressed, Memory, MemoryUse, Pool};
