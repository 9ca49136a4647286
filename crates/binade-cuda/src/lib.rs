#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod adopt;
mod capture;
mod ceilings;
mod chunks;
mod counters;
mod cuda;
mod driver;
mod error;
mod facts;
mod faults;
mod kernels;
mod launch;
mod library;
mod masters;
mod memory;
mod multi_tensor;
mod ops;
mod peers;
mod prefetch;
mod probe;
mod ranks;
mod scaler;
mod stream;
#[cfg(test)]
mod testing;
mod transfer;
mod write;

pub use adopt::{AdoptError, ForeignMemory, Loan, dlpack};
pub use binade_gpu::MemoryUse;
pub use capture::{Capture, CaptureError, Captured};
pub use ceilings::ReferencePass;
pub use counters::DeviceCounters;
pub use cuda::Cuda;
pub use cudarc;
pub use error::{CudaError, Error};
pub use facts::KernelFacts;
pub use kernels::add_rule;
pub use library::{F32Products, Products, ProductsBackend};
pub use prefetch::Prefetched;
pub use ranks::{Communicator, CudaRank, RankGradients};

type Result<T = (), E = Error> = std::result::Result<T, E>;

binade_gpu::implement_device!(Cuda);
