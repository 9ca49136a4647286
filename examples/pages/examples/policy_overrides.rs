//! Policy with exceptions: by operation, by path, by length, and a rule for an operation that no list has.
//!
//! Overrides are a layer over any policy, and the most recent that applies wins. `explain` says which rule a call gets, which
//! layer it comes from, and which casts follow, without running anything; it is the first thing to look at when a loss is off.

use binade::cast_policy::{Condition, Explanation, OpCall, Overrides};
use binade::core::OpClass;
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};
use binade_tape::{Tape, Var};

/// Returns torch's lists with overrides: `tanh` in f32, the head in f32, long means in f32, no `mul` in the encoder, a new
/// operation.
fn policy() -> Overrides<OpTable> {
    let table = OpTable::torch_cuda().register("flash_attention", CastRule::Lower);
    let long_mean =
        Condition { op: Some("mean".into()), reduction_above: Some(4096), ..Condition::default() };
    let gating = Condition {
        op: Some("mul".into()),
        path: Some("encoder.**".into()),
        ..Condition::default()
    };
    Overrides::over(table)
        .op("tanh", CastRule::F32)
        .path("head.*", CastRule::F32)
        .when(long_mean, CastRule::F32)
        .when(gating, CastRule::Banned("gate with `add` in the encoder".into()))
}

/// Returns the policy's explanations for calls of each kind, in an f16 region.
fn explanations() -> Vec<Explanation> {
    use DType::{F16, F32};
    let attention = Op::custom("flash_attention", OpClass::MatMul);
    let linear = OpCall { path: "encoder.0", ..OpCall::new(Op::LINEAR, &[F32, F32]) };
    let calls = [
        OpCall { elements: &[512, 4096], ..linear },
        OpCall { path: "head.out", ..OpCall::new(Op::LINEAR, &[F16, F32]) },
        OpCall { path: "encoder.0", ..OpCall::new(Op::TANH, &[F16]) },
        OpCall::new(Op::MEAN, &[F16]),
        OpCall { reduction: Some(65536), ..OpCall::new(Op::MEAN, &[F16]) },
        OpCall::new(attention, &[F32, F32, F32]),
        OpCall { path: "encoder.0.gate", ..OpCall::new(Op::MUL, &[F16, F16]) },
    ];
    calls.iter().map(|call| policy().explain(call, F16)).collect()
}

/// Returns the types that a small model computes in by this policy: encoder, its activation, head.
fn run() -> Result<[DType; 3]> {
    let tape = Tape::new(Cpu, &Region::f16().with_policy(policy())?);
    let x = tape.constant(Tensor::new(vec![1.0_f32, -1.0], &[1, 2])?);
    let weight =
        |name| -> Result<Var<Cpu>> { Ok(tape.parameter(&parameter(name, &[0.5; 4], &[2, 2])?)) };
    let encoded = x.at("encoder.0").linear(&weight("encoder.0.weight")?, None)?;
    let active = encoded.tanh()?;
    let scores = active.at("head.out").linear(&weight("head.out.weight")?, None)?;
    Ok([encoded.dtype(), active.dtype(), scores.dtype()])
}

/// Returns the encoder's refusal of a product, as the user reads it.
fn refusal() -> Result<String> {
    let tape = Tape::new(Cpu, &Region::f16().with_policy(policy())?);
    let x = tape.constant(Tensor::scalar(2.0_f32)).at("encoder.0.gate");
    match x.mul(&x) {
        Err(refused) => Ok(refused.to_string()),
        Ok(product) => Err(format!("{product:?} should have been refused").into()),
    }
}

fn main() -> Result<()> {
    for explanation in explanations() {
        println!("{explanation}");
    }
    let [encoder, activation, head] = run()?;
    println!("A model by it: encoder {encoder}, its tanh {activation}, head {head}.");
    println!("A product in the encoder: {}", refusal()?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_exception_gives_its_rule_and_says_so() {
        let expected = [
            (CastRule::Lower, "`linear` on its lower precision list"),
            (CastRule::F32, "(path `head.*`)"),
            (CastRule::F32, "(op `tanh`)"),
            (CastRule::Untouched, "`mean` on no list"),
            (CastRule::F32, "(op `mean` and reduction length > 4096)"),
            (CastRule::Lower, "`flash_attention` was registered so"),
            (
                CastRule::Banned("gate with `add` in the encoder".into()),
                "(op `mul` and path `encoder.**`)",
            ),
        ];
        let explained = explanations();
        assert_eq!(explained.len(), expected.len());
        for (explanation, (rule, reason)) in explained.iter().zip(expected) {
            assert_eq!(explanation.rule, rule, "{explanation}");
            assert!(explanation.to_string().contains(reason), "{explanation}");
        }
    }

    #[test]
    fn an_explanation_counts_the_bytes_of_its_casts() {
        let of_casts = |it: &Explanation| it.casts.iter().map(|cast| cast.bytes).sum();
        let bytes: Vec<Option<u64>> = explanations().iter().map(of_casts).take(2).collect();
        assert_eq!(bytes, [Some(2 * (512 + 4096)), None]);
    }

    #[test]
    fn a_model_computes_as_was_explained() {
        assert_eq!(run().unwrap(), [DType::F16, DType::F32, DType::F32]);
    }

    #[test]
    fn a_banned_operation_is_refused_with_the_advice() {
        let text = refusal().unwrap();
        assert!(text.contains("`mul` at `encoder.0.gate`"), "{text}");
        assert!(text.contains("gate with `add` in the encoder"), "{text}");
    }
}
