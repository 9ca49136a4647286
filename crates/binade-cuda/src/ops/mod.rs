//! The operations, a file each, named as in `binade-ops`, with the kernels it launches.
//!
//! Each checks its operands by the rules that all devices share, makes the result's memory, and puts a kernel in the stream.
//! None waits for the device.

mod add;
mod bias_add;
mod dropout;
mod embedding;
mod fill;
mod gelu;
mod max_pool2d;
mod mul;
mod operands;
mod pointwise;
mod relu;
mod reshape;
mod tanh;

use crate::kernels::Kernel;

/// Their kernels, by operation.
pub(crate) const KERNELS: &[&[&Kernel]] = &[
    add::KERNELS,
    bias_add::KERNELS,
    dropout::KERNELS,
    embedding::KERNELS,
    fill::KERNELS,
    gelu::KERNELS,
    max_pool2d::KERNELS,
    mul::KERNELS,
    relu::KERNELS,
    tanh::KERNELS,
];
