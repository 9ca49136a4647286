//! Agreement of each group of cases: the allowed difference from the oracle.

use crate::{Agreement, Arithmetic, CaseGroup};

impl CaseGroup {
    /// Returns the agreement that a subject of this arithmetic must meet: every bit, unless a row says otherwise.
    pub fn agreement(self, arithmetic: Arithmetic) -> Agreement {
        let Arithmetic { fma, rounded_div_sqrt, .. } = arithmetic;
        match self {
            // A norm keeps full `f32` accuracy over any number of elements: it is one unit away only if it is beside a tie.
            Self::Norm => Agreement::Ulps(1),
            // At the lower end of a binade: one unit of the norm, a rounding of the factor, and one of the product.
            Self::Clip | Self::ClipGroups => Agreement::Ulps(4),
            // One more rounding in the gradient and one in the parameter, on values without cancellation.
            Self::Sgd | Self::Lion if !fma => Agreement::Ulps(2),
            Self::Adam | Self::Adagrad if !fma || !rounded_div_sqrt => Agreement::Ulps(2),
            Self::Div | Self::Sqrt if rounded_div_sqrt => Agreement::Bits,
            Self::MatMul
            | Self::Bmm
            | Self::Linear
            | Self::LinearRelu
            | Self::ScaledDotProductAttention
            | Self::Conv2d => Agreement::of_matrix_products(arithmetic),
            // The oracle derives the mass from the roundings in `f32`, and from the error of a device's own functions. For a run it is a share of the
            // first loss, the error of one rounding of 1: the roundings of all steps together are far below it, since gradients of both signs offset
            // each other. Norms of whole tensors are sums in the device's own order. Such a norm is one unit away if it is beside a tie, and later
            // steps start from it.
            Self::WholeTensors
            | Self::BiasAdd
            | Self::Sum
            | Self::Mean
            | Self::MaxPool2d
            | Self::AvgPool2d
            | Self::AdaptiveAvgPool2d
            | Self::Gelu
            | Self::GeluTanh
            | Self::Silu
            | Self::Exp
            | Self::Sqrt
            | Self::Div
            | Self::Tanh
            | Self::Softmax
            | Self::LogSoftmax
            | Self::LayerNorm
            | Self::RmsNorm
            | Self::GroupNorm
            | Self::BatchNorm
            | Self::RotaryEmbedding
            | Self::MseLoss
            | Self::CrossEntropy
            | Self::Convergence => Agreement::Bound { c: 1.0 },
            _ => Agreement::Bits,
        }
    }
}
