//! Agreement of each group of cases: the allowed difference from the oracle.

use crate::{Agreement, Arithmetic, CaseGroup};

impl CaseGroup {
    /// Returns how near a subject of this arithmetic must come to the oracle: to every bit, unless a row says otherwise.
    pub fn agreement(self, arithmetic: Arithmetic) -> Agreement {
        let Arithmetic { fma, rounded_div_sqrt, .. } = arithmetic;
        match self {
            // A norm keeps full `f32` accuracy over any count of elements: it is one unit away only where it lies beside a tie.
            Self::Norm => Agreement::Ulps(1),
            // At the lower end of a binade: a norm that is one unit away, a rounding of the factor, and one of the product.
            Self::Clip | Self::ClipGroups => Agreement::Ulps(4),
            // Another rounding in the gradient and another in the parameter, on values of which none cancel.
            Self::Sgd | Self::Lion if !fma => Agreement::Ulps(2),
            Self::Adam | Self::Adagrad if !fma || !rounded_div_sqrt => Agreement::Ulps(2),
            Self::Div | Self::Sqrt if rounded_div_sqrt => Agreement::Bits,
            Self::MatMul
            | Self::Bmm
            | Self::Linear
            | Self::LinearRelu
            | Self::ScaledDotProductAttention
            | Self::Conv2d => Agreement::of_matrix_products(arithmetic),
            // The mass that the oracle works out from the roundings in `f32`, and from the error of a device's own functions. Of a run it is a
            // share of the first loss, the error of one rounding of 1: the roundings of all steps together are far below it, since
            // gradients of either sign make up for each other. Norms of whole tensors are sums in the device's own order. Such a norm is one unit
            // away where it lies beside a tie, and later steps start from it.
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
