//! Meaning of the recorded names.

use crate::replay::error::Wrong;
use binade_cast_policy::OpTable;

/// One of torch's two registries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Device {
    Cpu,
    Cuda,
}

impl Device {
    pub(super) fn named(name: &str) -> Result<Self, Wrong> {
        match name {
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda),
            _ => Err(Wrong::Recording(format!("there is no preset for {name}"))),
        }
    }

    pub(super) fn table(self) -> OpTable {
        match self {
            Self::Cpu => OpTable::torch_cpu(),
            Self::Cuda => OpTable::torch_cuda(),
        }
    }

    /// The operation that a recorded name calls, under the name that torch registers it by.
    pub(super) fn registered(self, name: &str) -> &str {
        match (name, self) {
            ("bce", _) => "binary_cross_entropy",
            ("bce_logits", _) => "binary_cross_entropy_with_logits",
            ("cat3", _) => "cat",
            ("chain_matmul" | "tensordot", Self::Cpu) | ("mm_out_none", _) => "mm",
            ("cross", Self::Cuda) => "linalg_cross",
            ("cross_entropy_prob", Self::Cuda) => "log_softmax",
            ("cross_entropy_prob", Self::Cpu) => "cross_entropy",
            ("einsum", Self::Cpu) => "bmm",
            ("fft", _) => "fft_fft",
            ("grid_sample", _) => "grid_sampler",
            ("gumbel_softmax" | "softmin", _) => "softmax",
            ("layer_norm_w", _) => "layer_norm",
            ("linear_bias", _) => "linear",
            ("matrix_norm", _) => "linalg_matrix_norm",
            ("norm_p1", _) | ("normalize", Self::Cuda) => "norm",
            ("pad_reflect", _) => "reflection_pad1d",
            ("pow_scalar" | "rpow_scalar" | "square", _) => "pow",
            ("prod_dim", _) => "prod",
            ("qr", _) => "linalg_qr",
            ("sdpa", _) => "scaled_dot_product_attention",
            ("sum_dim", _) => "sum",
            ("svdvals", _) => "linalg_svdvals",
            ("vector_norm", _) => "linalg_vector_norm",
            (name, _) => name,
        }
    }

    /// Returns true if it is on no list itself and compares its operands' types before it calls one that is.
    pub(super) fn checks_first(self, name: &str) -> bool {
        self == Self::Cpu && matches!(name, "chain_matmul" | "tensordot")
    }

    /// Returns true if it calls several operations, each by a rule of its own, on what others gave.
    pub(super) fn is_composite(self, name: &str) -> bool {
        self == Self::Cpu && matches!(name, "gru_cell" | "lstm_cell")
    }
}
