//! Operations, a file each, named as in `binade-ops`, for every driver that has their kernels.
//!
//! A function has the arguments of its trait's method, checks them by the rules that all devices share, allocates the result, and
//! launches a kernel by its name. None waits for the device. [`implement_ops!`](binade_ops::implement_ops) makes the traits of
//! them.

mod channels;
mod gemm;
mod pointwise;
mod rows;
mod total;

pub use batch_norm::BatchNormKernels;
pub use channels::{ChannelKernels, Channels};
pub use conv2d::{Conv2dKernels, Geometry, Layer};
pub use cross_entropy::CrossEntropyKernels;
pub use embedding::EmbeddingKernels;
pub use gemm::{Gemm, GemmKernels, Matrices};
pub use layer_norm::LayerNormKernels;
pub use max_pool2d::MaxPool2dKernels;
pub use pointwise::{DropoutMask, PointwiseKernels};
pub use rows::{RowKernels, Rows};
pub use total::{Total, TotalKernels};

macro_rules! operations {
    ({} $($trait:ident $file:ident $methods:tt)*) => { $(pub mod $file;)* };
}

binade_ops::for_each_op!([operations]);
