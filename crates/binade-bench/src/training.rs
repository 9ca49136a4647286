//! Whole training step of an MLP, by the loop that a user's program has.

use crate::{Result, mlp::Mlp};
use binade::{Amp, Model, OptLevel, Properties, initialize};
use binade_core::DType;
use binade_example_shared::program::Trains;
use binade_grad_scaler::ScaledGrads;
use binade_master_weights::UpdateRule;
use binade_tape::{Tape, Var};

/// Start of the dynamic loss scale, as in PyTorch's baseline: no step overflows, and all do the same work.
const SCALE: f32 = 1024.0;

/// Optimization level and its low type; O0 has none.
pub(crate) type Setting = (OptLevel, DType);

/// Settings that are measured, in the order of the table.
pub(crate) const SETTINGS: [Setting; 5] = [
    (OptLevel::O0, DType::F32),
    (OptLevel::O1, DType::BF16),
    (OptLevel::O1, DType::F16),
    (OptLevel::O2, DType::BF16),
    (OptLevel::O2, DType::F16),
];

/// Training step: forward, backward, check and unscale, clip by norm, `AdamW`, scale update. It reads nothing.
pub(crate) struct Training<D: Trains> {
    device: D,
    pub(crate) mlp: Mlp,
    pub(crate) setting: Setting,
    amp: Amp<D>,
    input: D::Tensor,
    target: D::Tensor,
}

impl<D: Trains<Error: 'static>> Training<D> {
    /// Creates a step on a batch of the first of these values. Targets are values too, from the last.
    pub(crate) fn new(device: &D, mlp: Mlp, setting: Setting, values: &[f32]) -> Result<Self> {
        let model = Model::new(mlp.parameters(device)?);
        let rule = UpdateRule::adamw(1e-4);
        let amp = initialize(device.clone(), model, rule, properties(setting)?)?;
        let batch = |width: Option<&usize>, values: &mut dyn Iterator<Item = &f32>| -> Result<_> {
            let shape = [mlp.batch, width.copied().unwrap_or(0)];
            let values: Vec<f32> = values.take(shape[0] * shape[1]).copied().collect();
            Ok(device.upload(&values, &shape, DType::F32)?)
        };
        let input = batch(mlp.widths.first(), &mut values.iter())?;
        let target = batch(mlp.widths.last(), &mut values.iter().rev())?;
        Ok(Self { device: device.clone(), mlp, setting, amp, input, target })
    }

    /// Returns the loss and its gradients. The tape is dropped on return: it holds the parameters, and a step gives new memory to
    /// those that others hold.
    fn gradients(&mut self) -> Result<(D::Tensor, ScaledGrads<D>)> {
        let tape = Tape::new(self.device.clone(), &self.amp.region);
        let parameters = tape.parameters(&self.amp.optimizer.params);
        let output = Mlp::forward(&parameters, &tape.constant(self.input.clone()))?;
        let loss = output.mse_loss(&tape.constant(self.target.clone()))?;
        let grads = self.amp.scaler.scale(&loss)?.backward(Var::backward)?;
        Ok((loss.tensor().clone(), grads))
    }

    /// Takes the step, and returns the loss before it.
    pub(crate) fn step(&mut self) -> Result<D::Tensor> {
        let (loss, grads) = self.gradients()?;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut self.amp.optimizer)?;
        self.amp.scaler.update(step)?.ignore();
        Ok(loss)
    }
}

fn properties((level, dtype): Setting) -> Result<Properties> {
    let properties = level.with(dtype);
    let rule = properties.loss_scale;
    if rule.is_fixed() {
        return Ok(properties);
    }
    let rule = rule.with_init_scale(SCALE)?.with_growth_interval(u32::MAX)?;
    Ok(Properties { loss_scale: rule, ..properties })
}
