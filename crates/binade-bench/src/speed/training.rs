//! Benchmark of a whole training step of an MLP, by the loop that a user's program has.

use super::{
    Result,
    mlp::Mlp,
    row::{Kind, What},
    work::Work,
};
use binade::{Amp, Model, OptLevel, Properties, initialize};
use binade_core::DType;
use binade_core::ops::Upload;
use binade_cuda::{Cuda, Tensor};
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
pub(crate) struct Training {
    device: Cuda,
    mlp: Mlp,
    setting: Setting,
    amp: Amp<Cuda>,
    input: Tensor,
    target: Tensor,
}

impl Training {
    /// Creates a step on a batch of these values, `width` for each sample. Targets are the inputs in reverse.
    pub(crate) fn new(device: &Cuda, mlp: Mlp, setting: Setting, values: &[f32]) -> Result<Self> {
        let model = Model::new(mlp.parameters(device)?);
        let rule = UpdateRule::adamw(1e-4);
        let amp = initialize(device.clone(), model, rule, properties(setting)?)?;
        let shape = [mlp.batch, mlp.width];
        let backwards: Vec<f32> = values.iter().rev().copied().collect();
        let input = device.upload(values, &shape, DType::F32)?;
        let target = device.upload(&backwards, &shape, DType::F32)?;
        Ok(Self { device: device.clone(), mlp, setting, amp, input, target })
    }

    /// Returns the loss and its gradients. The tape is dropped on return: it holds the parameters, and a step gives new memory to
    /// those that others hold.
    fn gradients(&mut self) -> Result<(Tensor, ScaledGrads<Cuda>)> {
        let tape = Tape::new(self.device.clone(), &self.amp.region);
        let parameters = tape.parameters(&self.amp.optimizer.params);
        let output = Mlp::forward(&parameters, &tape.constant(self.input.clone()))?;
        let loss = output.mse_loss(&tape.constant(self.target.clone()))?;
        let grads = self.amp.scaler.scale(&loss)?.backward(Var::backward)?;
        Ok((loss.tensor().clone(), grads))
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

impl Work for Training {
    type Input = ();
    /// Loss before the step.
    type Output = Tensor;

    fn what(&self) -> What {
        let (mlp @ Mlp { layers, width, batch }, (level, dtype)) = (self.mlp, self.setting);
        let (name, of) = (
            format!("{level}, {layers}x{width} batch {batch}"),
            (dtype, mlp.elements(), 2 * layers),
        );
        let what = What::moving("mlp", &name, Kind::Computed, of, [0, 0]);
        What { flops: mlp.flops(), samples: batch as u64, ..what }
    }

    fn prepare(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, (): ()) -> Result<Tensor> {
        let (loss, grads) = self.gradients()?;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut self.amp.optimizer)?;
        self.amp.scaler.update(step)?.ignore();
        Ok(loss)
    }
}
