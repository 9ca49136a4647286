//! Rows of what is small: decisions, regions, casts of a layer's operands, the scale's update.

use super::row::{Spec, timed};
use super::tensors::Size;
use binade_autocast::Region;
use binade_cast_policy::OpCall;
use binade_core::ops::Linear;
use binade_core::{DType, Op};
use binade_cpu::Cpu;
use binade_grad_scaler::{GradScaler, LossScale, ScaleState, ScaleStore};
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

/// Linear layer of 8×8 in a region: the input is bf16, and the casts of weight and bias are kept.
pub(crate) fn cached_linear() -> Spec {
    Spec::new(
        "autocast",
        "linear 8×8 bf16, in a region, casts kept",
        json!({ "kind": "linear", "autocast": true }),
        || {
            let ([x, ..], [_, weight, bias], region) =
                (layer(DType::BF16)?, layer(DType::F32)?, Region::bf16());
            let scope = region.open(&Cpu);
            Ok(timed(move || {
                let [x, weight, bias] = scope.cast(Op::LINEAR, "", [&x, &weight, &bias])?;
                Ok(Cpu.linear(&x, &weight, Some(&bias))?)
            }))
        },
    )
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
