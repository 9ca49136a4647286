//! Training with a tape for a few steps, on one device or on several. The tests of backends include it.

use binade::prelude::*;
use binade_checkpoint::{Checkpoint, Draft};
use binade_core::ops::{Add, Download, Linear, MseLoss, Relu, Shaped, ToDevice, Upload};
use binade_core::{DType, Handle, Named, NamedGrads};
use binade_grad_scaler::{BadMicroBatch, PeerDevice, ScaleState, Step};
use binade_master_weights::{Snapshot, UpdateRule};
use binade_model_parallel::{ModelParallel, ModelParallelError};
use binade_tape::{ScalingDevice, Tape, TapeError, Var};
use fastrand::Rng;
use std::ops::Range;

const ROWS: usize = 4;
const WIDTHS: [usize; 4] = [5, 6, 6, 3];
pub(crate) const STEPS: usize = 6;

pub(crate) type Out<D> = Result<Var<D>, TapeError<<D as Handle>::Error>>;

/// Device that the model trains on.
pub(crate) trait Trains:
    ScalingDevice
    + Snapshot<Params = Vec<Named<<Self as Handle>::Tensor>>>
    + Upload
    + Download
    + Linear
    + Relu
    + MseLoss
    + Add
{
}

impl<D> Trains for D where
    D: ScalingDevice
        + Snapshot<Params = Vec<Named<<Self as Handle>::Tensor>>>
        + Upload
        + Download
        + Linear
        + Relu
        + MseLoss
        + Add
{
}

/// Device, with the assignment of layers to devices.
pub(crate) trait Layout {
    type Device: Trains;

    fn device(&self) -> Self::Device;

    /// Returns the handle that creates tensors on a layer's device.
    fn of_layer(&self, layer: usize) -> Self::Device;

    /// Moves a value to the device of a layer.
    fn to(&self, value: &Var<Self::Device>, layer: usize) -> Out<Self::Device>;

    /// Returns the number of times that the host has waited.
    fn waits(&self) -> u64;
}

/// One device with the whole model, and its count of waits.
pub(crate) struct Alone<D>(pub(crate) D, pub(crate) fn(&D) -> u64);

impl<D: Trains> Layout for Alone<D> {
    type Device = D;

    fn device(&self) -> D {
        self.0.clone()
    }

    fn of_layer(&self, _: usize) -> D {
        self.0.clone()
    }

    fn to(&self, value: &Var<D>, _: usize) -> Out<D> {
        Ok(value.clone())
    }

    fn waits(&self) -> u64 {
        self.1(&self.0)
    }
}

/// Devices, the number of the device of each layer, and a device's count of waits.
pub(crate) struct Divided<D> {
    pub(crate) devices: ModelParallel<D>,
    pub(crate) layers: [usize; 3],
    pub(crate) waits: fn(&D) -> u64,
}

impl<D> Layout for Divided<D>
where
    D: PeerDevice,
    ModelParallel<D>: Trains + ToDevice + Handle<Error = ModelParallelError<D::Error>>,
{
    type Device = ModelParallel<D>;

    fn device(&self) -> ModelParallel<D> {
        self.devices.clone()
    }

    fn of_layer(&self, layer: usize) -> ModelParallel<D> {
        self.devices.on(self.layers[layer]).unwrap()
    }

    fn to(&self, value: &Var<ModelParallel<D>>, layer: usize) -> Out<ModelParallel<D>> {
        value.to_device(self.layers[layer])
    }

    fn waits(&self) -> u64 {
        self.devices.devices().iter().map(self.waits).sum()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) level: OptLevel,
    pub(crate) dtype: DType,
    pub(crate) rule: UpdateRule,
    pub(crate) clip: Option<f32>,
    pub(crate) micro_batches: usize,
    /// Step, micro-batch and parameter whose gradient is infinite in one element.
    pub(crate) overflow: Option<(usize, usize, &'static str)>,
    pub(crate) bad: BadMicroBatch,
    /// True if the second layer's parameters get no gradient.
    pub(crate) frozen: bool,
}

impl Setting {
    pub(crate) fn new(level: OptLevel, dtype: DType) -> Self {
        let rule = UpdateRule::adamw(0.01);
        let (clip, micro_batches, overflow) = (None, 1, None);
        let (bad, frozen) = (BadMicroBatch::SkipWindow, false);
        Self { level, dtype, rule, clip, micro_batches, overflow, bad, frozen }
    }
}

pub(crate) const LEVELS: [(OptLevel, DType); 5] = [
    (OptLevel::O0, DType::F32),
    (OptLevel::O1, DType::BF16),
    (OptLevel::O1, DType::F16),
    (OptLevel::O2, DType::BF16),
    (OptLevel::O2, DType::F16),
];

/// State at the end of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct State {
    /// File of parameters, masters, moments, the scale and its counters.
    pub(crate) checkpoint: Vec<u8>,
    pub(crate) scale: ScaleState,
    pub(crate) reports: Vec<String>,
    /// Bits of the norm of each step.
    pub(crate) norms: Vec<Option<u32>>,
}

fn values(random: &mut Rng, len: usize) -> Vec<f32> {
    (0..len).map(|_| random.f32() - 0.5).collect()
}

fn params<L: Layout>(layout: &L) -> Vec<Named<<L::Device as Handle>::Tensor>> {
    let mut random = Rng::with_seed(7);
    let mut params = Vec::new();
    for (layer, width) in WIDTHS.windows(2).enumerate() {
        for (kind, shape) in [("weight", vec![width[1], width[0]]), ("bias", vec![width[1]])] {
            let values = values(&mut random, shape.iter().product());
            let tensor = layout.of_layer(layer).upload(&values, &shape, DType::F32).unwrap();
            params.push(Named::new(format!("{layer}.{kind}"), tensor));
        }
    }
    params
}

fn loss<L: Layout>(layout: &L, amp: &Amp<L::Device>, seed: usize, frozen: bool) -> Out<L::Device> {
    let mut random = Rng::with_seed(seed as u64);
    let mut rows = |width, layer| {
        let values = values(&mut random, ROWS * width);
        layout.of_layer(layer).upload(&values, &[ROWS, width], DType::F32)
    };
    let tape = Tape::new(layout.device(), &amp.region);
    let p = tape.parameters(&amp.optimizer.params);
    let (x, y) = (tape.constant(rows(WIDTHS[0], 0)?), tape.constant(rows(WIDTHS[3], 2)?));
    let first = x.cast(p[0].dtype())?.linear(&p[0], Some(&p[1]))?.relu()?;
    let here = layout.to(&first, 1)?;
    let second = if frozen { here } else { here.linear(&p[2], Some(&p[3]))?.relu()? };
    let joined = layout.to(&second, 2)?.add(&layout.to(&first, 2)?)?;
    joined.linear(&p[4], Some(&p[5]))?.cast(DType::F32)?.mse_loss(&y)
}

/// Returns a gradient of a layer with an infinite element.
fn spoilt<L: Layout>(
    layout: &L,
    grad: &<L::Device as Handle>::Tensor,
    layer: usize,
) -> <L::Device as Handle>::Tensor {
    let device = layout.of_layer(layer);
    let mut elements = device.download(grad).unwrap();
    elements[2] = f32::INFINITY;
    device.upload(&elements, &device.shape(grad), device.dtype(grad)).unwrap()
}

/// Trains the steps, from the checkpoint of `from` where there is one.
pub(crate) fn train<L: Layout>(
    layout: &L,
    setting: Setting,
    steps: Range<usize>,
    from: Option<&State>,
) -> State {
    let properties = setting.level.with(setting.dtype);
    let model = Model::new(params(layout));
    let mut amp = initialize(layout.device(), model, setting.rule, properties).unwrap();
    if let Some(from) = from {
        let checkpoint = Checkpoint::from_bytes(&from.checkpoint).unwrap();
        let mut restore = checkpoint.restore();
        restore.scaler("loss", &mut amp.scaler).unwrap();
        restore.optimizer("model", &mut amp.optimizer).unwrap();
        restore.finish().unwrap();
    }
    let (mut draft, mut reports, mut norms) = (Draft::fresh(), Vec::new(), Vec::new());
    for number in steps {
        let before = layout.waits();
        let mut window = amp.scaler.accumulate(setting.bad);
        for micro_batch in 0..setting.micro_batches {
            let seed = number * setting.micro_batches + micro_batch;
            let loss = loss(layout, &amp, seed, setting.frozen).unwrap();
            let spoils = |name: &str| setting.overflow == Some((number, micro_batch, name));
            let grads = amp.scaler.scale(&loss).unwrap().backward(|loss| {
                let mut grads: NamedGrads<_> = loss.backward()?;
                for (place, grad) in grads.iter_mut().enumerate() {
                    if let (true, Some(value)) = (spoils(&grad.name), &mut grad.value) {
                        *value = spoilt(layout, value, place / 2);
                    }
                }
                Ok(grads.into())
            });
            window.add(grads.unwrap().unscale().unwrap()).unwrap();
        }
        let mut grads = window.finish().unwrap().unwrap();
        if let Some(max) = setting.clip {
            grads = grads.clip_norm(max).unwrap();
        }
        let step = grads.step(&mut amp.optimizer).unwrap();
        let outcome = amp.scaler.update(step).unwrap();
        if setting.overflow.is_none_or(|(step, ..)| step != number) {
            assert_eq!(layout.waits(), before, "a step waits for nothing");
        }
        let step: Step = outcome.resolve().unwrap();
        draft = Draft::after(&step);
        norms.push(step.report().steps[0].norm.map(f32::to_bits));
        reports.push(step.report().to_string());
    }
    let draft = draft.scaler("loss", &amp.scaler).unwrap();
    let checkpoint = draft.optimizer("model", &amp.optimizer).unwrap().finish().unwrap();
    State {
        checkpoint: checkpoint.to_bytes().unwrap(),
        scale: amp.scaler.state().unwrap(),
        reports,
        norms,
    }
}
