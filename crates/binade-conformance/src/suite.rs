//! Groups of cases by what they are about: who implements one trait runs the cases of that trait and no others.

use crate::Operation;
use std::fmt;

/// What cases are about: a trait, and with it those that it needs, or a part of the kit that has no trait of its own.
///
/// Every operation belongs to one suite. A suite is called what its trait is, whose page has the contracts.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Suite {
    /// Bits to the device and back: the two functions that everyone has.
    Storage,
    /// Casts between element types.
    Autocast,
    /// Casts that round by shared random words.
    StochasticCast,
    /// Scaling, unscaling, and with its supertrait `ScaleStore` what findings and rules make of the scale.
    GradScaler,
    /// Norms, clipping and windows.
    GradOps,
    /// Clipping by groups.
    ClipGroups,
    /// Optimizer steps, by every store of masters.
    MasterWeights,
    /// Whole iterations as `Scaler` runs them: sparse gradients, delayed unscaling, recordings, scales by loss.
    Scaler,
    /// Whole runs, held to the loss of `f32`: by gradients of the host, and by the subject's own casts and operations.
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
    /// Matrix product.
    MatMul,
    /// A batch of matrix products.
    Bmm,
    /// A linear layer.
    Linear,
    /// A linear layer with the rectified linear unit behind it.
    LinearRelu,
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
    /// Sum of all elements.
    Sum,
    /// Mean of all elements.
    Mean,
    /// Rows of a table, by index.
    Embedding,
    /// Elements zeroed by chance.
    Dropout,
}

impl Suite {
    /// The traits of `binade-ops`, one suite each.
    pub const OPS: [Self; 24] = [
        Self::Fill,
        Self::Reshape,
        Self::Relu,
        Self::Gelu,
        Self::Tanh,
        Self::Add,
        Self::Mul,
        Self::BiasAdd,
        Self::MatMul,
        Self::Bmm,
        Self::Linear,
        Self::LinearRelu,
        Self::Conv2d,
        Self::MaxPool2d,
        Self::LayerNorm,
        Self::BatchNorm,
        Self::Softmax,
        Self::LogSoftmax,
        Self::CrossEntropy,
        Self::MseLoss,
        Self::Sum,
        Self::Mean,
        Self::Embedding,
        Self::Dropout,
    ];

    /// The operations whose cases it holds.
    pub fn operations(self) -> impl Iterator<Item = Operation> {
        Operation::ALL.into_iter().filter(move |operation| operation.suite() == self)
    }
}

impl Operation {
    /// The suite that its cases belong to.
    pub const fn suite(self) -> Suite {
        match self {
            Self::Bits => Suite::Storage,
            Self::Cast => Suite::Autocast,
            Self::StochasticCast => Suite::StochasticCast,
            Self::Scale | Self::Unscale | Self::Merge | Self::Iterate | Self::ScaleUpdate => {
                Suite::GradScaler
            }
            Self::Norm | Self::Clip | Self::Accumulate => Suite::GradOps,
            Self::ClipGroups => Suite::ClipGroups,
            Self::Sgd
            | Self::Adam
            | Self::Remainder
            | Self::Stochastic
            | Self::Kahan
            | Self::ScaledF16 => Suite::MasterWeights,
            Self::Sparse | Self::Delayed | Self::Follow | Self::UpdateEach => Suite::Scaler,
            Self::Convergence => Suite::Convergence,
            Self::Fill => Suite::Fill,
            Self::Reshape => Suite::Reshape,
            Self::Relu => Suite::Relu,
            Self::Gelu => Suite::Gelu,
            Self::Tanh => Suite::Tanh,
            Self::Add => Suite::Add,
            Self::Mul => Suite::Mul,
            Self::BiasAdd => Suite::BiasAdd,
            Self::MatMul => Suite::MatMul,
            Self::Bmm => Suite::Bmm,
            Self::Linear => Suite::Linear,
            Self::LinearRelu => Suite::LinearRelu,
            Self::Conv2d => Suite::Conv2d,
            Self::MaxPool2d => Suite::MaxPool2d,
            Self::LayerNorm => Suite::LayerNorm,
            Self::BatchNorm => Suite::BatchNorm,
            Self::Softmax => Suite::Softmax,
            Self::LogSoftmax => Suite::LogSoftmax,
            Self::CrossEntropy => Suite::CrossEntropy,
            Self::MseLoss => Suite::MseLoss,
            Self::Sum => Suite::Sum,
            Self::Mean => Suite::Mean,
            Self::Embedding => Suite::Embedding,
            Self::Dropout => Suite::Dropout,
        }
    }
}

impl fmt::Display for Suite {
    /// The trait's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}"))
    }
}
