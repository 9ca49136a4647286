//! The operations, a file each, named as in `binade-ops`, with the kernels it launches.
//!
//! Each checks its operands by the rules that all devices share, makes the result's memory, and puts a kernel in the stream.
//! None waits for the device.

mod batch_norm;
mod cross_entropy;
mod fill;
mod layer_norm;
mod log_softmax;
mod mean;
mod mse_loss;
mod operands;
mod reshape;
mod rows;
mod softmax;
mod sum;
mod total;

use crate::kernels::Kernel;

/// Their kernels, by operation.
pub(crate) const KERNELS: &[&[&Kernel]] = &[
    batch_norm::KERNELS,
    cross_entropy::KERNELS,
    fill::KERNELS,
    layer_norm::KERNELS,
    log_softmax::KERNELS,
    mean::KERNELS,
    mse_loss::KERNELS,
    softmax::KERNELS,
    sum::KERNELS,
];
