#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod cpu;
mod elementary;
mod error;
mod gradients;
mod masters;
mod multi_tensor;
mod ops;
mod parallel;
mod pool;
mod product;
mod reduce;
mod scaler;
mod simd;
mod tensor;

pub use cpu::Cpu;
pub use error::Error;
pub use gradients::Gradients;
pub use tensor::{Stored, Tensor};
