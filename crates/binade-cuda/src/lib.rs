#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod autocast;
mod capture;
mod ceilings;
mod cuda;
mod driver;
mod error;
mod facts;
mod faults;
mod gradients;
mod host;
mod kernels;
mod launch;
mod ledger;
mod library;
mod many;
mod masters;
mod memory;
mod ops;
mod probe;
mod replicas;
mod scaler;
mod set;
#[cfg(test)]
mod testing;
mod transfer;
mod work;
mod write;

pub use binade_gpu::MemoryUse;
pub use capture::{Capture, Captured, Uncapturable};
pub use cuda::Cuda;
pub use cudarc;
pub use error::{CudaError, Error};
pub use facts::KernelFacts;
pub use ledger::Ledger;
pub use library::{ConvolutionsBy, F32Products, Products, ProductsBy};
pub use replicas::{JointGradients, Parts, Replicas};
pub use scaler::Scale;

/// A tensor in device memory.
pub type Tensor = binade_gpu::Tensor<Cuda>;
/// Gradients by parameter, and the factors that are still to be multiplied in.
pub type Gradients = binade_gpu::Gradients<Cuda>;
/// The finding of a pass over gradients, on the device.
pub type Found = binade_gpu::Found<Cuda>;
/// Masters, moments and counts of applied steps on the device.
pub type Masters = binade_gpu::Masters<Cuda>;
