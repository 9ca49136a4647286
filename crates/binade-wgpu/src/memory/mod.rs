//! Device memory: buffers that go back to a pool, and buffers that the host can read, which go round.

mod buffer;
mod meter;
mod pool;
mod staging;

pub(crate) use buffer::{Buffer, is_alone};
pub use meter::MemoryUse;
pub(crate) use pool::{Pool, Taker};
pub(crate) use staging::{Ring, Staging};
