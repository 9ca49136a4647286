//! C side of the driver: every exported function, by library. A row has its name, its arguments and the call of the state that it
//! makes.
//!
//! A function here turns C's arguments into Rust's by the types of `abi`. The names are NVIDIA's.

mod abi;
mod call;
mod cublaslt;
mod cuda;
mod cudnn;
mod nccl;
