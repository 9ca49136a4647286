//! The operations, a file each, named as in `binade-ops`, with the kernels it launches.
//!
//! Each checks its operands by the rules that all devices share, makes the result's memory, and puts a kernel in the stream.
//! None waits for the device.

mod add;
mod fill;
mod gelu;
mod mul;
mod operands;
mod pointwise;
mod relu;
mod reshape;
mod tanh;

use crate::kernels::Kernel;

/// Their kernels, by operation.
pub(crate) const KERNELS: &[&[&Kernel]] =
    &[add::KERNELS, fill::KERNELS, gelu::KERNELS, mul::KERNELS, relu::KERNELS, tanh::KERNELS];
