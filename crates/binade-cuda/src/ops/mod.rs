//! The operations, a file each, named as in `binade-ops`, with the kernels it launches.
//!
//! Each checks its operands by the rules that all devices share, makes the result's memory, and puts a kernel in the stream.
//! None waits for the device.

mod bmm;
mod columns;
mod fill;
mod gemm;
mod linear;
mod matmul;
mod operands;
mod products;
mod reshape;

use crate::kernels::Kernel;

/// Their kernels, by operation.
pub(crate) const KERNELS: &[&[&Kernel]] = &[columns::KERNELS, fill::KERNELS, gemm::KERNELS];
