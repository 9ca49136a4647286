//! Policy with exceptions: by operation, by path, by length, and a rule for an operation that no list has.
//!
//! Overrides are a layer over any policy, and the most recent that applies wins. `explain` says which rule a call gets, which
//! layer it comes from, and which casts follow, without running anything; it is the first thing to look at when a loss is off.

use crate::{Result, parameter};
use binade::cast_policy::{Condition, Explanation, OpCall, Overrides};
use binade::core::OpClass;
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_tape::{Tape, Var};

/// Returns torch's lists with overrides: `tanh` in f32, the head in f32, long means in f32, no `mul` in the encoder, a new
/// operation.
pub fn policy() -> Overrides<OpTable> {
    let table = OpTable::torch_cuda().register("flash_attention", CastRule::Lower);
    let long_mean = Condition::always().op("mean").reduction_above(4096);
    let gating = Condition::always().op("mul").path("encoder.**");
    Overrides::over(table)
        .op("tanh", CastRule::F32)
        .path("head.*", CastRule::F32)
        .when(long_mean, CastRule::F32)
        .when(gating, CastRule::banned("gate with `add` in the encoder"))
}

/// Returns the policy's explanations for calls of each kind, in an f16 region.
pub fn explanations() -> Vec<Explanation> {
    use DType::{F16, F32};
    let attention = Op::custom("flash_attention", OpClass::MatMul);
    let linear = OpCall::new(Op::LINEAR, &[F32, F32]).with_path("encoder.0");
    let calls = [
        OpCall { elements: &[512, 4096], ..linear },
        OpCall::new(Op::LINEAR, &[F16, F32]).with_path("head.out"),
        OpCall::new(Op::TANH, &[F16]).with_path("encoder.0"),
        OpCall::new(Op::MEAN, &[F16]),
        OpCall::new(Op::MEAN, &[F16]).with_reduction(65536),
        OpCall::new(attention, &[F32, F32, F32]),
        OpCall::new(Op::MUL, &[F16, F16]).with_path("encoder.0.gate"),
    ];
    calls.iter().map(|call| policy().explain(call, F16)).collect()
}

/// Returns the types that a small model computes in by this policy: encoder, its activation, head.
///
/// # Errors
///
/// If the device or the policy refuses.
pub fn run() -> Result<[DType; 3]> {
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
///
/// # Errors
///
/// If it is not refused, or the device fails.
pub fn refusal() -> Result<String> {
    let tape = Tape::new(Cpu, &Region::f16().with_policy(policy())?);
    let x = tape.constant(Tensor::scalar(2.0_f32)).at("encoder.0.gate");
    match x.mul(&x) {
        Err(refused) => Ok(refused.to_string()),
        Ok(product) => Err(format!("{product:?} should have been refused").into()),
    }
}
