#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod autocast;
mod capture;
mod ceilings;
mod cuda;
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
mod names;
mod ops;
mod probe;
mod replicas;
mod scaler;
mod set;
mod tensor;
#[cfg(test)]
mod testing;
mod transfer;
mod work;
mod write;

pub use capture::{Capture, Captured, Uncapturable};
pub use cuda::Cuda;
pub use cudarc;
pub use error::Error;
pub use facts::KernelFacts;
pub use gradients::Gradients;
pub use ledger::Ledger;
pub use library::{ConvolutionsBy, F32Products, Products, ProductsBy};
pub use masters::Masters;
pub use memory::MemoryUse;
pub use replicas::{JointGradients, Parts, Replicas};
pub use scaler::{Found, Scale};
pub use tensor::Tensor;
