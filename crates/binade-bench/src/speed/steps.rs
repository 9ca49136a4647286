//! Benchmark of the whole step, written in the typed order of a training loop.

use super::{
    Result, data,
    gpt::Gpt,
    passes,
    row::{Kind, What},
    work::Work,
};
use binade_core::ops::Upload;
use binade_core::{DType, Named};
use binade_cuda::{Cuda, Gradients, Tensor};
use binade_grad_scaler::{LossScale, ScaledGrads, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};

/// Bytes of the step's tables for each tensor: a row of 88 bytes, 12 to look its rule up, 36 of constants written and read.
pub(crate) const ROW: usize = 88 + 12 + 2 * 36;

/// Step with check and unscale, clip by norm, fused update of `f32` masters with a 16-bit copy, and scale update.
pub(crate) struct Step {
    scaler: Scaler<Cuda>,
    optimizer: MasterOptimizer<Cuda>,
    loss: Tensor,
    sets: Vec<Gradients>,
}

impl Step {
    /// Creates a step with gradients in `dtype`. Parameters are stored in bf16 if the gradients are, else in f16.
    pub(crate) fn new(cuda: &Cuda, gpt: Gpt, dtype: DType) -> Result<Self> {
        let rule = LossScale::dynamic().with_growth_interval(u32::MAX)?;
        let parameters = parameters(cuda, gpt)?;
        Ok(Self {
            scaler: Scaler::new(cuda.clone(), rule)?,
            optimizer: MasterOptimizer::new(
                cuda.clone(),
                parameters,
                optimizer_config(RULE, dtype)?,
            )?,
            loss: cuda.upload(&[1.0], &[1], DType::F32)?,
            sets: vec![gradients(cuda, gpt, dtype)?, gradients(cuda, gpt, dtype)?],
        })
    }
}

/// Bytes per element that the fused step moves beside the gradient: the master and two moments, read and written, and the 16-bit
/// copy.
pub(crate) const FUSED: usize = 2 * (4 + 4 + 4) + 2;

/// Returns the bytes an element that the whole step moves. It reads the gradient twice, once for the check.
fn least(gradient: DType) -> usize {
    2 * gradient.bytes() + FUSED
}

/// Rule of the whole step.
pub(crate) const RULE: UpdateRule = UpdateRule::adamw(1e-4);

/// Returns a configuration with masters, and parameters stored in sixteen bits.
pub(crate) fn optimizer_config(rule: UpdateRule, gradient: DType) -> Result<OptimizerConfig> {
    let stored = if gradient == DType::BF16 { DType::BF16 } else { DType::F16 };
    Ok(OptimizerConfig::new(rule)?.with_storage(stored))
}

pub(crate) fn parameters(cuda: &Cuda, gpt: Gpt) -> Result<Vec<Named<Tensor>>> {
    tensors(cuda, gpt, DType::F32)?
        .into_iter()
        .map(|(name, tensor)| Ok(Named::new(name, tensor)))
        .collect()
}

/// Returns a set of gradients in memory of its own.
pub(crate) fn gradients(cuda: &Cuda, gpt: Gpt, dtype: DType) -> Result<Gradients> {
    let all = tensors(cuda, gpt, dtype)?;
    let named = all.into_iter().map(|(name, tensor)| Named::new(name, Some(tensor)));
    Ok(named.collect::<Vec<_>>().into())
}

fn tensors(cuda: &Cuda, gpt: Gpt, dtype: DType) -> Result<Vec<(String, Tensor)>> {
    let shapes = gpt.shapes();
    let longest = shapes.iter().map(|(_, shape)| shape.iter().product()).max().unwrap_or(0);
    let values = data::values(longest);
    let one = |(name, shape): (String, Vec<usize>)| {
        let len = shape.iter().product();
        Ok((name, cuda.upload(&values[..len], &shape, dtype)?))
    };
    shapes.into_iter().map(one).collect()
}

impl Work for Step {
    type Input = ScaledGrads<Cuda>;
    type Output = ();

    fn what(&self) -> What {
        let of = self.sets.first().map_or((DType::F32, 0, 0), passes::size_of);
        let bytes = [least(of.0) * of.1, passes::overhead(of, 0) + of.2 * ROW];
        What::moving("step", "unscale, clip, AdamW, update", Kind::InPlace, of, bytes)
    }

    fn prepare(&mut self, round: usize) -> Result<ScaledGrads<Cuda>> {
        let set = self.sets[round % self.sets.len()].clone();
        Ok(self.scaler.scale(&self.loss)?.backward(|_| Ok(set))?)
    }

    fn run(&mut self, scaled: ScaledGrads<Cuda>) -> Result<()> {
        let step = scaled.unscale()?.clip_norm(1.0)?.step(&mut self.optimizer)?;
        self.scaler.update(step)?.ignore();
        Ok(())
    }

    fn turns(&self) -> usize {
        self.sets.len()
    }
}
