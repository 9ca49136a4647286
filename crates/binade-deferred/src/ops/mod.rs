//! Operations, a file each, named as in `binade-ops`: the checks that are made at once, and the work that is queued.

mod add;
mod affine;
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

use crate::tensor::Like;
use binade_core::DType;

/// Form of an f32 scalar, as losses, sums and means are.
fn scalar() -> Like {
    Like { shape: Vec::new(), dtype: DType::F32 }
}
