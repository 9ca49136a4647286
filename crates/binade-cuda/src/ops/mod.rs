//! The operations, a file each, named as in `binade-ops`, with the kernels it launches.
//!
//! Each checks its operands by the rules that all devices share, makes the result's memory, and puts a kernel in the stream.
//! None waits for the device.

mod batch_norm;
mod bmm;
mod columns;
mod cross_entropy;
mod fill;
mod gemm;
mod layer_norm;
mod linear;
mod log_softmax;
mod matmul;
mod mean;
mod mse_loss;
mod operands;
mod products;
mod reshape;
mod rows;
mod softmax;
mod sum;
mod total;

use crate::kernels::Kernel;

/// Their kernels, by operation.
pub(crate) const KERNELS: &[&[&Kernel]] = &[
    batch_norm::KERNELS,
    columns::KERNELS,
    cross_entropy::KERNELS,
    fill::KERNELS,
    gemm::KERNELS,
    layer_norm::KERNELS,
    log_softmax::KERNELS,
    mean::KERNELS,
    mse_loss::KERNELS,
    softmax::KERNELS,
    sum::KERNELS,
];
