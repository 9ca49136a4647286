//! The operations, a file each, named as in `binade-ops`, with the shaders they dispatch.
//!
//! Each checks its operands by the rules that all devices share, makes the result's memory, and puts a shader in the batch.
//! None waits for the device.

mod add;
mod batch_norm;
mod bias_add;
mod bmm;
mod conv2d;
mod cross_entropy;
mod dropout;
mod embedding;
mod fill;
mod gelu;
mod gemm;
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
mod pointwise;
mod relu;
mod reshape;
mod roles;
mod rows;
mod softmax;
mod sum;
mod tanh;
mod total;

use crate::shaders::Shader;

/// Their shaders, by operation.
pub(crate) const SHADERS: &[&[&Shader]] = &[
    add::SHADERS,
    batch_norm::SHADERS,
    bias_add::SHADERS,
    cross_entropy::SHADERS,
    dropout::SHADERS,
    embedding::SHADERS,
    fill::SHADERS,
    gelu::SHADERS,
    gemm::SHADERS,
    im2col::SHADERS,
    layer_norm::SHADERS,
    log_softmax::SHADERS,
    max_pool2d::SHADERS,
    mse_loss::SHADERS,
    mul::SHADERS,
    relu::SHADERS,
    softmax::SHADERS,
    sum::SHADERS,
    tanh::SHADERS,
];
