//! The operations, a file each, named as in `binade-ops`, with the kernels it launches.
//!
//! Each checks its operands by the rules that all devices share, makes the result's memory, and puts a kernel in the stream.
//! None waits for the device.

mod fill;
mod layer_norm;
mod mean;
mod mse_loss;
mod operands;
mod reshape;
mod rows;
mod sum;
mod total;

use crate::kernels::Kernel;

/// Their kernels, by operation.
pub(crate) const KERNELS: &[&[&Kernel]] =
    &[fill::KERNELS, layer_norm::KERNELS, mean::KERNELS, mse_loss::KERNELS, sum::KERNELS];
