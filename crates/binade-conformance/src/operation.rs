//! The operations that the kit knows, and how near each must come.

use crate::{Agreement, Arithmetic, cases};
use std::fmt;

/// An operation; its oracle, its cases and every backend's file go by the same name.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Operation {
    /// To the device and back.
    Bits,
    /// Between element types.
    Cast,
    /// To narrower types, up or down by shared random words.
    StochasticCast,
    /// A loss times the scale, and a tensor of no optimizer over it.
    Scale,
    /// Gradients divided by their scale, and what the pass finds.
    Unscale,
    /// The norm of all gradients together, as clipping measures it.
    Norm,
    /// Gradients limited, by norm or one by one.
    Clip,
    /// Groups of gradients limited, each by a norm of its own.
    ClipGroups,
    /// The sum of a window's micro-batches.
    Accumulate,
    /// What two passes found, joined.
    Merge,
    /// Iterations that stay on the device until the last.
    Iterate,
    /// The scale's move after an iteration.
    ScaleUpdate,
    /// A fused step of stochastic gradient descent.
    Sgd,
    /// A fused step of Adam or `AdamW`.
    Adam,
    /// Steps of masters in two halves, a `bf16` and a remainder.
    Remainder,
    /// Steps of parameters that are rounded by chance.
    Stochastic,
    /// Steps of parameters with a compensation.
    Kahan,
    /// Steps of masters in `f16` with an exponent a tensor.
    ScaledF16,
    /// Matrix product.
    MatMul,
    /// Sum of all elements.
    Sum,
    /// Mean of all elements.
    Mean,
    /// Gradients as coordinates that may repeat, made whole and divided by their scale.
    Sparse,
    /// Losses whose gradients are divided once, at the end.
    Delayed,
    /// Runs that follow a recording.
    Follow,
    /// Scales that move by the overflows of their own losses.
    UpdateEach,
    /// Whole runs, held to the loss of `f32`.
    Convergence,
    /// A tensor of one value.
    Fill,
    /// The same elements under another shape.
    Reshape,
    /// The rectified linear unit.
    Relu,
    /// The Gaussian error linear unit.
    Gelu,
    /// The hyperbolic tangent.
    Tanh,
    /// Elementwise sum.
    Add,
    /// Elementwise product.
    Mul,
    /// A vector added along the channel axis.
    BiasAdd,
    /// A linear layer.
    Linear,
    /// A linear layer with the rectified linear unit behind it.
    LinearRelu,
    /// A batch of matrix products.
    Bmm,
    /// Two-dimensional convolution.
    Conv2d,
    /// The largest element of each window.
    MaxPool2d,
    /// Normalisation over the last axis.
    LayerNorm,
    /// Normalisation over the batch, by channel.
    BatchNorm,
    /// Softmax over the last axis.
    Softmax,
    /// Its logarithm.
    LogSoftmax,
    /// Cross-entropy of class labels.
    CrossEntropy,
    /// Mean squared error.
    MseLoss,
    /// Rows of a table, by index.
    Embedding,
    /// Elements zeroed by chance.
    Dropout,
}

impl Operation {
    /// Every operation, in the order of the table.
    pub const ALL: [Self; 47] = [
        Self::Bits,
        Self::Cast,
        Self::StochasticCast,
        Self::Scale,
        Self::Unscale,
        Self::Norm,
        Self::Clip,
        Self::ClipGroups,
        Self::Accumulate,
        Self::Merge,
        Self::Iterate,
        Self::ScaleUpdate,
        Self::Sgd,
        Self::Adam,
        Self::Remainder,
        Self::Stochastic,
        Self::Kahan,
        Self::ScaledF16,
        Self::MatMul,
        Self::Sum,
        Self::Mean,
        Self::Sparse,
        Self::Delayed,
        Self::Follow,
        Self::UpdateEach,
        Self::Convergence,
        Self::Fill,
        Self::Reshape,
        Self::Relu,
        Self::Gelu,
        Self::Tanh,
        Self::Add,
        Self::Mul,
        Self::BiasAdd,
        Self::Linear,
        Self::LinearRelu,
        Self::Bmm,
        Self::Conv2d,
        Self::MaxPool2d,
        Self::LayerNorm,
        Self::BatchNorm,
        Self::Softmax,
        Self::LogSoftmax,
        Self::CrossEntropy,
        Self::MseLoss,
        Self::Embedding,
        Self::Dropout,
    ];

    /// The name that cases begin with.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bits => "bits",
            Self::Cast => "cast",
            Self::StochasticCast => "stochastic_cast",
            Self::Scale => "scale",
            Self::Unscale => "unscale",
            Self::Norm => "norm",
            Self::Clip => "clip",
            Self::ClipGroups => "clip_groups",
            Self::Accumulate => "accumulate",
            Self::Merge => "merge",
            Self::Iterate => "iterate",
            Self::ScaleUpdate => "scale_update",
            Self::Sgd => "sgd",
            Self::Adam => "adam",
            Self::Remainder => "remainder",
            Self::Stochastic => "stochastic",
            Self::Kahan => "kahan",
            Self::ScaledF16 => "scaled_f16",
            Self::MatMul => "matmul",
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Sparse => "sparse",
            Self::Delayed => "delayed",
            Self::Follow => "follow",
            Self::UpdateEach => "update_each",
            Self::Convergence => "convergence",
            Self::Fill => "fill",
            Self::Reshape => "reshape",
            Self::Relu => "relu",
            Self::Gelu => "gelu",
            Self::Tanh => "tanh",
            Self::Add => "add",
            Self::Mul => "mul",
            Self::BiasAdd => "bias_add",
            Self::Linear => "linear",
            Self::LinearRelu => "linear_relu",
            Self::Bmm => "bmm",
            Self::Conv2d => "conv2d",
            Self::MaxPool2d => "max_pool2d",
            Self::LayerNorm => "layer_norm",
            Self::BatchNorm => "batch_norm",
            Self::Softmax => "softmax",
            Self::LogSoftmax => "log_softmax",
            Self::CrossEntropy => "cross_entropy",
            Self::MseLoss => "mse_loss",
            Self::Embedding => "embedding",
            Self::Dropout => "dropout",
        }
    }

    /// Returns how near a subject of this arithmetic must come. Nothing else loosens it.
    pub const fn agreement(self, arithmetic: &Arithmetic) -> Agreement {
        cases::agreement(self, *arithmetic)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
