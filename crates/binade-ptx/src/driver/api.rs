//! C side of the driver: every exported function of the driver API, by topic.
//!
//! A function here turns C's arguments into Rust's by the types of `abi`, and calls the state. The names are NVIDIA's.

mod abi;
mod call;
mod context;
mod cublaslt;
mod cudnn;
mod device;
mod error;
mod event;
mod graph;
mod launch;
mod memory;
mod module;
mod occupancy;
mod pinned;
mod pool;
mod stream;
mod unsupported;
