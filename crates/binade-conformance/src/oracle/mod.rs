//! What each operation means: one element at a time, one screen each, independent of everything they judge.
//!
//! Speed is no concern here, and neither is sharing code: an oracle is right because it can be read beside its
//! definition.

pub mod accumulate;
pub mod adam;
pub mod add;
pub mod batch_norm;
pub mod bias_add;
pub mod bmm;
pub mod cast;
pub mod clip;
pub mod clip_groups;
pub mod conv2d;
pub mod convergence;
pub mod cross_entropy;
pub mod delayed;
pub mod dropout;
pub mod embedding;
pub mod follow;
pub mod gelu;
pub mod iterate;
pub mod kahan;
pub mod layer_norm;
pub mod linear;
pub mod linear_relu;
pub mod log_softmax;
pub mod matmul;
pub mod max_pool2d;
pub mod mean;
pub mod merge;
pub mod mse_loss;
pub mod mul;
pub mod norm;
pub mod relu;
pub mod remainder;
pub mod scale;
pub mod scale_update;
pub mod scaled_f16;
pub mod sgd;
pub mod softmax;
pub mod sparse;
pub mod stochastic;
pub mod stochastic_cast;
pub mod sum;
pub mod tanh;
pub mod train;
pub mod unscale;
pub mod update_each;
