//! Rows of what is small: decisions, regions, casts of a layer's operands, the scale's update.

use super::row::{Spec, timed};
use super::tensors::Size;
use binade_autocast::Region;
use binade_cast_policy::OpCall;
use binade_core::ops::Linear;
use binade_core::{DType, Named, Op};
use binade_cpu::Cpu;
use binade_grad_scaler::{GradScaler, LossScale, ScaleState, ScaleStore};
use binade_tape::Tape;
use serde_json::json;

/// Extent of a tiny layer.
const TINY: usize = 8;

pub(crate) fn decision() -> Spec {
    Spec::new("autocast", "decision of one operation", None, || {
        let region = Region::f16();
        Ok(timed(move || Ok(region.decide(&OpCall::from(Op::LINEAR))?)))
    })
}

pub(crate) fn region() -> Spec {
    Spec::new("autocast", "region entered and left", json!({ "kind": "region" }), || {
        let region = Region::bf16();
        Ok(timed(move || Ok(region.open(&Cpu))))
    })
}

/// Linear layer of 8×8 without autocast, in bf16.
pub(crate) fn bare_linear() -> Spec {
    Spec::new(
        "autocast",
        "linear 8×8 bf16, bare",
        json!({ "kind": "linear", "autocast": false }),
        || {
            let [x, weight, bias] = layer(DType::BF16)?;
            Ok(timed(move || Ok(Cpu.linear(&x, &weight, Some(&bias))?)))
        },
    )
}

/// Linear layer of 8×8 on a tape, of a bf16 input and parameters of `dtype`: bf16 ones need no casts, and those of f32 are made once and kept.
pub(crate) fn linear_on_tape(dtype: DType) -> Spec {
    let what = if dtype == DType::BF16 { "without casts" } else { "casts kept" };
    let peer = (dtype == DType::F32).then(|| json!({ "kind": "linear", "autocast": true }));
    Spec::new("autocast", format!("linear 8×8 bf16, on a tape, {what}"), peer, move || {
        let ([x, ..], [_, weight, bias]) = (layer(DType::BF16)?, layer(dtype)?);
        let tape = Tape::new(Cpu, &Region::bf16()).no_grad();
        let parameter = |name: &str, value| tape.parameter(&Named { name: name.into(), value });
        let (x, weight, bias) =
            (tape.constant(x), parameter("weight", weight), parameter("bias", bias));
        Ok(timed(move || Ok(x.linear(&weight, Some(&bias))?)))
    })
}

fn layer(dtype: DType) -> crate::Result<[binade_cpu::Tensor; 3]> {
    let of = |shape: &[usize]| -> crate::Result<_> {
        let size = Size { elements: shape.iter().product(), tensors: 1 };
        Ok(size.tensors(dtype)?.remove(0).reshape(shape)?)
    };
    Ok([of(&[TINY, TINY])?, of(&[TINY, TINY])?, of(&[TINY])?])
}

/// Update of the scale by one finding.
pub(crate) fn update() -> Spec {
    Spec::new("scaler", "scale update", json!({ "kind": "update" }), || {
        let (rule, mut state) =
            (LossScale::dynamic().with_growth_interval(u32::MAX)?, ScaleState::from_exponent(10));
        let found =
            Cpu.unscale(&mut Size { elements: 8, tensors: 1 }.gradients(DType::F32)?, &state)?;
        Ok(timed(move || Ok(Cpu.update(&mut state, &[], &[&found], &rule)?)))
    })
}
