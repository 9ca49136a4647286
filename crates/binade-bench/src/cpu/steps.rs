//! Rows of the whole optimizer step.

use super::gradients::{name, sizes};
use super::row::{Spec, Work, timed};
use super::tensors::Size;
use crate::Result;
use binade_core::DType;
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{LossScale, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use serde_json::json;

/// Bytes an element that `AdamW` moves beside the gradient: master and two moments, read and written, and the 16-bit copy.
const FUSED: usize = 2 * (4 + 4 + 4) + 2;

/// Step of `f32` masters and a 16-bit copy: check and unscale, clip by norm, `AdamW`, scale update.
pub(crate) fn adamw(size: Size, dtype: DType) -> Spec {
    let peer = json!({ "kind": "step", "dtype": dtype.name(), "elements": size.elements, "tensors": size.tensors });
    let row = Spec::new("step", format!("AdamW, {}", name(size, dtype)), peer, move || {
        let stored = if dtype == DType::BF16 { DType::BF16 } else { DType::F16 };
        let config = OptimizerConfig::new(UpdateRule::adamw(1e-4))?.with_storage(stored);
        step(size, dtype, config, Some(1.0))
    });
    // The gradient is read twice, once for the check.
    Spec { bytes: size.elements * (2 * dtype.bytes() + FUSED), ..row }
}

/// Loss scaling around plain SGD of a few tiny parameters.
pub(crate) fn tiny() -> Spec {
    let size = Size { elements: 80, tensors: 10 };
    Spec::new(
        "scaler",
        "scale, unscale, SGD step, update of 10 tiny",
        json!({ "kind": "tiny" }),
        move || step(size, DType::F32, OptimizerConfig::new(UpdateRule::sgd(1e-4))?, None),
    )
}

/// Step of one plot's point: `f16` gradients.
pub(crate) fn growth(group: &'static str, size: Size, at: usize) -> Spec {
    let row = adamw(size, DType::F16);
    Spec { group, name: sizes(size), measures_memory: true, at: Some(at), ..row }
}

fn step(size: Size, dtype: DType, config: OptimizerConfig, max: Option<f32>) -> Result<Work> {
    let mut scaler = Scaler::new(Cpu, LossScale::dynamic().with_growth_interval(u32::MAX)?)?;
    let mut optimizer = MasterOptimizer::new(Cpu, size.named(DType::F32)?, config)?;
    let (grads, loss) = (size.gradients(dtype)?, Tensor::from_f32(vec![1.0], &[1], DType::F32)?);
    Ok(timed(move || {
        let unscaled = scaler.scale(&loss)?.backward(|_| Ok(grads.clone()))?.unscale()?;
        let unscaled = if let Some(max) = max { unscaled.clip_norm(max)? } else { unscaled };
        scaler.update(unscaled.step(&mut optimizer)?)?.ignore();
        Ok(())
    }))
}
