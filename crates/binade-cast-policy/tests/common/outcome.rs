//! One row of torch's behaviour, held against a table's decision.
//!
//! The oracle is torch with autocast off: the decision's casts done by hand must give the type that torch gives in a
//! region. What torch computes where it refuses nothing is compared, and so is what it refuses.

use binade_cast_policy::{CastPolicy, OpCall, OpTable, Refusal};
use binade_core::{DType, Op, OpClass};
use serde_json::Value;

/// What torch did with `operation` on operands of types `mix` in a region.
pub(crate) struct Row<'a> {
    pub(crate) device: &'a str,
    pub(crate) region: DType,
    pub(crate) operation: &'a str,
    pub(crate) mix: &'a str,
    pub(crate) torch: &'a Value,
}

impl Row<'_> {
    /// Compares, given torch's results without autocast; `false` if the row was skipped.
    pub(crate) fn check(&self, table: &OpTable, plain: &Value) -> bool {
        let operands: Vec<DType> = self.mix.split(',').map(dtype).collect();
        if self.is_skipped(&operands) {
            return false;
        }
        let op = Op::custom(self.registered().to_owned().leak(), OpClass::Other);
        let call = OpCall::new(op, &operands);
        match table.rule(&call).decide(&call, self.region) {
            Err(refusal) => self.refused(&refusal, &operands),
            Ok(decision) => {
                // An f32 result of uncast operands is what operands cast to f32 would give.
                let to =
                    |d: DType| decision.cast(d).or(decision.output.filter(|_| d.is_castable()));
                let cast: Vec<_> = operands.iter().map(|&d| to(d).unwrap_or(d).name()).collect();
                let Some(expected) = plain.get(cast.join(",")) else { return false };
                assert_eq!(self.torch, expected, "{self}, cast to {cast:?}");
            }
        }
        true
    }

    /// torch refuses too; or promotes, where `f32` comes before the foreign type: the order decides there.
    fn refused(&self, refusal: &Refusal, operands: &[DType]) {
        let by_order = match refusal {
            Refusal::Conflict { operand, .. } => operands[..*operand].contains(&DType::F32),
            _ => false,
        };
        assert!(*self.torch == "error" || by_order, "{self}: torch gives {}", self.torch);
    }

    fn is_skipped(&self, operands: &[DType]) -> bool {
        // The CUDA rows were made without a GPU, where narrower types mixed with f64 or i64 are not checked.
        let mixed = operands.iter().any(|d| d != &operands[0]);
        let wide = operands.iter().any(|d| matches!(d, DType::F64 | DType::I64));
        // These run several registered operations, each with its own rule.
        let composite = match self.device {
            "cpu" => ["einsum", "chain_matmul", "tensordot", "gru_cell", "lstm_cell"]
                .contains(&self.operation),
            // `cross` was probed through `linalg.cross`, which is not registered; `normalize` divides by a norm.
            _ => ["cross", "normalize"].contains(&self.operation),
        };
        composite || (self.device == "cuda" && mixed && wide)
    }

    /// The registered name behind the probe's.
    fn registered(&self) -> &str {
        match self.operation {
            "bce" => "binary_cross_entropy",
            "bce_logits" => "binary_cross_entropy_with_logits",
            "cat3" => "cat",
            "cross_entropy_prob" if self.device == "cuda" => "log_softmax",
            "cross_entropy_prob" => "cross_entropy",
            "fft" => "fft_fft",
            "grid_sample" => "grid_sampler",
            "gumbel_softmax" | "softmin" => "softmax",
            "layer_norm_w" => "layer_norm",
            "linear_bias" => "linear",
            "matrix_norm" => "linalg_matrix_norm",
            "mm_out_none" => "mm",
            "norm_p1" => "norm",
            "pad_reflect" => "reflection_pad1d",
            "pow_scalar" | "rpow_scalar" | "square" => "pow",
            "prod_dim" => "prod",
            "qr" => "linalg_qr",
            "sdpa" => "scaled_dot_product_attention",
            "sum_dim" => "sum",
            "svdvals" => "linalg_svdvals",
            "vector_norm" => "linalg_vector_norm",
            other => other,
        }
    }
}

impl std::fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} of {} in a {} region on {}",
            self.operation, self.mix, self.region, self.device
        )
    }
}

fn dtype(name: &str) -> DType {
    let known = [DType::BF16, DType::F16, DType::F32, DType::F64, DType::I64];
    known.into_iter().find(|d| d.name() == name).unwrap_or_else(|| panic!("type {name}"))
}
