//! The operations that the kit knows, and how near each must come.

use crate::{Agreement, Arithmetic};
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
}

impl Operation {
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
        }
    }

    /// How near a subject of this arithmetic must come. Nothing else loosens it.
    ///
    /// Steps without the roundings that the oracle uses differ by one rounding in the gradient and one in the
    /// parameter: two units in the last place, on values of which none cancel. Tensor Cores truncate where they align
    /// addends; four times the bound of rounding covers the designs measured by Fasi, Higham, Mikaitis and Pranesh
    /// (`PeerJ` Computer Science 7:e330, 2021).
    ///
    /// Stores are tried with steps whose one product is exact, so that every arithmetic brings them the same values.
    ///
    /// A norm is to keep full `f32` accuracy over any count of elements, and so is one unit away where it lies beside a
    /// tie, and no more. Clipping by a norm that is one unit away adds a rounding of the factor and one of the product:
    /// four units at the lower end of a binade.
    pub const fn agreement(self, arithmetic: &Arithmetic) -> Agreement {
        match self {
            Self::Bits
            | Self::Cast
            | Self::StochasticCast
            | Self::Scale
            | Self::Unscale
            | Self::Accumulate
            | Self::Merge
            | Self::Iterate
            | Self::ScaleUpdate
            | Self::Remainder
            | Self::Stochastic
            | Self::Kahan
            | Self::ScaledF16
            | Self::Sparse
            | Self::Delayed
            | Self::Follow
            | Self::UpdateEach => Agreement::Bits,
            Self::Norm => Agreement::Ulps(1),
            Self::Clip | Self::ClipGroups => Agreement::Ulps(4),
            Self::Sgd if arithmetic.fma => Agreement::Bits,
            Self::Adam if arithmetic.fma && arithmetic.rounded_div_sqrt => Agreement::Bits,
            Self::Sgd | Self::Adam => Agreement::Ulps(2),
            Self::MatMul if arithmetic.tensor_core => Agreement::Bound { c: 4.0 },
            Self::MatMul | Self::Sum | Self::Mean => Agreement::Bound { c: 1.0 },
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
