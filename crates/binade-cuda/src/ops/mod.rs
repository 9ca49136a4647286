//! The operations, a file each, named as in `binade-ops`, with the kernels it launches.
//!
//! Each checks its operands by the rules that all devices share, makes the result's memory, and puts a kernel in the stream.
//! None waits for the device.

mod add;
mod batch_norm;
mod bias_add;
mod bmm;
mod columns;
mod conv2d;
mod cross_entropy;
mod divisor;
mod dropout;
mod embedding;
mod fill;
mod gelu;
pub(crate) mod gemm;
mod im2col;
mod layer_norm;
mod linear;
mod linear_relu;
mod log_softmax;
mod matmul;
mod max_pool2d;
mod mean;
mod mse_loss;
mod mul;
mod operands;
mod order;
mod pointwise;
mod products;
mod ranges;
mod relu;
mod reshape;
mod rows;
mod softmax;
mod sum;
mod tanh;
mod total;

use crate::kernels::Kernel;

/// Bytes of shared memory that launches of this kernel ask for.
pub(crate) fn shared(kernel: &Kernel) -> u32 {
    products::tile_of(kernel).map_or(0, |tile| tile.shared)
}

/// Their kernels, by operation.
pub(crate) const KERNELS: &[&[&Kernel]] = &[
    add::KERNELS,
    batch_norm::KERNELS,
    bias_add::KERNELS,
    columns::KERNELS,
    cross_entropy::KERNELS,
    dropout::KERNELS,
    embedding::KERNELS,
    fill::KERNELS,
    im2col::KERNELS,
    gelu::KERNELS,
    gemm::KERNELS,
    layer_norm::KERNELS,
    log_softmax::KERNELS,
    max_pool2d::KERNELS,
    mean::KERNELS,
    mse_loss::KERNELS,
    mul::KERNELS,
    order::KERNELS,
    ranges::KERNELS,
    relu::KERNELS,
    softmax::KERNELS,
    sum::KERNELS,
    tanh::KERNELS,
];
