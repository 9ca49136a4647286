//! Facts about regions, run by the preset of torch's list for CPUs.

use super::answer::Answer;
use crate::replay::dtype;
use binade_autocast::Region;
use binade_cast_policy::{OpCall, OpTable};
use binade_core::{DType, Op};
use serde_json::json;

/// Runs a fact by its name.
pub(super) fn run(name: &str) -> Option<Answer> {
    let dtype = name.strip_prefix("autocast('cpu', ").and_then(|rest| rest.strip_suffix(')'));
    match name {
        "as decorator, twice" => twice(),
        _ => matmul_in(dtype?),
    }
}

/// `autocast('cpu', DTYPE)`, where torch has such a region.
fn matmul_in(dtype: &str) -> Option<Answer> {
    let region =
        dtype::castable(dtype).ok().filter(|dtype| matches!(dtype, DType::BF16 | DType::F16))?;
    let result = matmul(&Region::new(region, OpTable::torch_cpu()).ok()?)?;
    Some(Answer::Text(format!("enabled True, mm -> torch.{result}")))
}

/// `as decorator, twice`.
fn twice() -> Option<Answer> {
    let region = Region::new(DType::BF16, OpTable::torch_cpu()).ok()?;
    let results = [matmul(&region)?, matmul(&region)?].map(|result| format!("torch.{result}"));
    Some(Answer::Value(json!(results)))
}

/// torch's name of the type of a product of `f32` operands.
fn matmul(region: &Region) -> Option<&'static str> {
    let call = OpCall::new(Op::MATMUL, &[DType::F32, DType::F32]);
    match region.decide(&call).ok()?.cast(DType::F32).unwrap_or(DType::F32) {
        DType::BF16 => Some("bfloat16"),
        DType::F16 => Some("float16"),
        DType::F32 => Some("float32"),
        _ => None,
    }
}
