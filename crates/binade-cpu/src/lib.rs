#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod cpu;
mod error;
mod gemm;
mod ops;
mod parallel;
mod reduce;
mod tensor;

pub use cpu::Cpu;
pub use error::Error;
pub use tensor::{Stored, Tensor};
