//! Rows that multiply matrices: products, and attention.

use super::row::{Spec, timed};
use super::tensors::Size;
use crate::Result;
use binade_core::DType;
use binade_core::ops::{AttentionConfig, AttentionOutput, MatMul, ScaledDotProductAttention};
use binade_cpu::{Cpu, Tensor};
use serde_json::json;

/// Product of two square matrices.
pub(crate) fn matmul(size: usize, dtype: DType) -> Spec {
    let peer = json!({ "kind": "matmul", "dtype": dtype.name(), "size": size });
    let row = Spec::new("matmul", format!("{} {size}³", dtype.name()), peer, move || {
        let (a, b) = (tensor(&[size, size], dtype)?, tensor(&[size, size], dtype)?);
        Ok(timed(move || Ok(Cpu.matmul(&a, &b)?)))
    });
    Spec { flops: crate::speed::products::flops(size), ..row }
}

/// Causal attention of `[1, heads, length, 64]`, forward or backward.
pub(crate) fn attention([heads, length]: [usize; 2], dtype: DType, is_backward: bool) -> Spec {
    let pass = if is_backward { "backward" } else { "forward" };
    let peer = json!({ "kind": "attention", "dtype": dtype.name(), "heads": heads, "length": length, "backward": is_backward });
    let row = Spec::new(
        "attention",
        format!("{} 1×{heads}×{length}×64 causal, {pass}", dtype.name()),
        peer,
        move || {
            let of = || tensor(&[1, heads, length, 64], dtype);
            let (q, k, v, grad) = (of()?, of()?, of()?, of()?);
            let config = AttentionConfig { causal: true, ..AttentionConfig::default() };
            let forward = move |[q, k, v]: [&Tensor; 3]| {
                Cpu.scaled_dot_product_attention(q, k, v, None, config)
            };
            if !is_backward {
                return Ok(timed(move || Ok(forward([&q, &k, &v])?)));
            }
            let AttentionOutput { output, statistics } = forward([&q, &k, &v])?;
            Ok(timed(move || {
                let grads = Cpu.scaled_dot_product_attention_backward(
                    &grad,
                    &q,
                    &k,
                    &v,
                    &output,
                    &statistics,
                    None,
                    config,
                )?;
                Ok(grads)
            }))
        },
    );
    // Half of the pairs are masked; forward has two products of them, backward five.
    let products = if is_backward { 5 } else { 2 };
    Spec { flops: (products * heads * length * length * 64) as u64, ..row }
}

fn tensor(shape: &[usize], dtype: DType) -> Result<Tensor> {
    let size = Size { elements: shape.iter().product(), tensors: 1 };
    Ok(size.tensors(dtype)?.remove(0).reshape(shape)?)
}
