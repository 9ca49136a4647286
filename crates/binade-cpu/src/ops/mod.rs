//! The operations, a file each, named as in `binade-ops`.
//!
//! Each checks its operands, widens them to f32, computes, and narrows once.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

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
mod host;
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
mod shaped;
mod softmax;
mod sum;
mod tanh;

use crate::Cpu;

// Holds the handle to having every operation.
const _: fn() = || {
    fn has_all<D: binade_ops::Ops>() {}
    has_all::<Cpu>();
};
