//! Training with a tape for a few steps, on one device and divided among several.

use binade::prelude::*;
use binade_checkpoint::{Checkpoint, Draft};
use binade_core::ops::{Add, Linear, MseLoss, Relu};
use binade_core::{DType, Handle, Named, NamedGrads};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{BadMicroBatch, ScaleState, Step};
use binade_master_weights::{Snapshot, UpdateRule};
use binade_model_parallel::{DeviceTensor, ModelParallel};
use binade_tape::{ScalingDevice, Tape, TapeError, Var};
use fastrand::Rng;
use std::ops::Range;

const ROWS: usize = 4;
const WIDTHS: [usize; 4] = [5, 6, 6, 3];
const STEPS: usize = 6;

type Out<D> = Result<Var<D>, TapeError<<D as Handle>::Error>>;

/// Device that the model trains on.
pub(crate) trait Layout {
    type D: ScalingDevice
        + Snapshot<Params = Vec<Named<<Self::D as Handle>::Tensor>>>
        + Linear
        + Relu
        + MseLoss
        + Add;

    fn device(&self) -> Self::D;
    fn place(&self, tensor: Tensor, layer: usize) -> <Self::D as Handle>::Tensor;
    /// Returns the tensor of the CPU.
    fn plain(tensor: &<Self::D as Handle>::Tensor) -> &Tensor;
    /// Brings a value to the device of a layer.
    fn to(&self, value: &Var<Self::D>, layer: usize) -> Out<Self::D>;
}

impl Layout for Cpu {
    type D = Self;

    fn device(&self) -> Self {
        *self
    }

    fn place(&self, tensor: Tensor, _: usize) -> Tensor {
        tensor
    }

    fn plain(tensor: &Tensor) -> &Tensor {
        tensor
    }

    fn to(&self, value: &Var<Self>, _: usize) -> Out<Self> {
        Ok(value.clone())
    }
}

/// Devices, and the number of the device of each layer.
#[derive(Clone)]
pub(crate) struct Divided {
    pub(crate) devices: ModelParallel<Cpu>,
    pub(crate) layers: [usize; 3],
}

impl Divided {
    pub(crate) fn new(devices: usize, layers: [usize; 3]) -> Self {
        Self { devices: ModelParallel::new(vec![Cpu; devices]).unwrap(), layers }
    }
}

impl Layout for Divided {
    type D = ModelParallel<Cpu>;

    fn device(&self) -> ModelParallel<Cpu> {
        self.devices.clone()
    }

    fn place(&self, tensor: Tensor, layer: usize) -> DeviceTensor<Tensor> {
        self.devices.tensor(tensor, self.layers[layer]).unwrap()
    }

    fn plain(tensor: &DeviceTensor<Tensor>) -> &Tensor {
        tensor.tensor()
    }

    fn to(&self, value: &Var<ModelParallel<Cpu>>, layer: usize) -> Out<ModelParallel<Cpu>> {
        value.to_device(self.layers[layer])
    }
}

/// Every way to divide three layers that differs in what moves: two devices, three, the second before the first, and there and back.
const LAYERS: [(usize, [usize; 3]); 5] =
    [(1, [0, 0, 0]), (2, [0, 0, 1]), (3, [0, 1, 2]), (2, [1, 0, 0]), (2, [0, 1, 0])];

#[derive(Clone, Copy)]
struct Setting {
    level: OptLevel,
    dtype: DType,
    rule: UpdateRule,
    clip: Option<f32>,
    micro_batches: usize,
    /// Step, micro-batch and parameter whose gradient is infinite in one element.
    overflow: Option<(usize, usize, &'static str)>,
    bad: BadMicroBatch,
    /// Parameter that no gradient reaches.
    frozen: bool,
}

impl Setting {
    fn new(level: OptLevel, dtype: DType) -> Self {
        let rule = UpdateRule::adamw(0.01);
        let (clip, micro_batches, overflow) = (None, 1, None);
        let (bad, frozen) = (BadMicroBatch::SkipWindow, false);
        Self { level, dtype, rule, clip, micro_batches, overflow, bad, frozen }
    }
}

const LEVELS: [(OptLevel, DType); 5] = [
    (OptLevel::O0, DType::F32),
    (OptLevel::O1, DType::BF16),
    (OptLevel::O1, DType::F16),
    (OptLevel::O2, DType::BF16),
    (OptLevel::O2, DType::F16),
];

/// State at the end of a run.
#[derive(Debug, PartialEq)]
struct State {
    /// File of parameters, masters, moments, the scale and its counters.
    checkpoint: Vec<u8>,
    scale: ScaleState,
    reports: Vec<String>,
    /// Norm of each step, bit by bit.
    norms: Vec<Option<u32>>,
}

fn values(random: &mut Rng, len: usize) -> Vec<f32> {
    (0..len).map(|_| random.f32() - 0.5).collect()
}

fn params<L: Layout>(layout: &L) -> Vec<Named<<L::D as Handle>::Tensor>> {
    let mut random = Rng::with_seed(7);
    let mut params = Vec::new();
    for (layer, width) in WIDTHS.windows(2).enumerate() {
        for (kind, shape) in [("weight", vec![width[1], width[0]]), ("bias", vec![width[1]])] {
            let tensor = Tensor::new(values(&mut random, shape.iter().product()), &shape).unwrap();
            params.push(Named::new(format!("{layer}.{kind}"), layout.place(tensor, layer)));
        }
    }
    params
}

fn loss<L: Layout>(layout: &L, amp: &Amp<L::D>, seed: usize, frozen: bool) -> Out<L::D> {
    let mut random = Rng::with_seed(seed as u64);
    let mut rows = |width, layer| {
        let tensor = Tensor::new(values(&mut random, ROWS * width), &[ROWS, width]).unwrap();
        layout.place(tensor, layer)
    };
    let tape = Tape::new(layout.device(), &amp.region);
    let p = tape.parameters(&amp.optimizer.params);
    let (x, y) = (tape.constant(rows(WIDTHS[0], 0)), tape.constant(rows(WIDTHS[3], 2)));
    let first = x.cast(p[0].dtype())?.linear(&p[0], Some(&p[1]))?.relu()?;
    let here = layout.to(&first, 1)?;
    let second = if frozen { here } else { here.linear(&p[2], Some(&p[3]))?.relu()? };
    let joined = layout.to(&second, 2)?.add(&layout.to(&first, 2)?)?;
    joined.linear(&p[4], Some(&p[5]))?.cast(DType::F32)?.mse_loss(&y)
}

fn spoilt<L: Layout>(
    layout: &L,
    grad: &<L::D as Handle>::Tensor,
    layer: usize,
) -> <L::D as Handle>::Tensor {
    let plain = L::plain(grad);
    let mut elements = plain.to_f32().into_owned();
    elements[2] = f32::INFINITY;
    let spoilt = Tensor::from_f32(elements, plain.shape(), plain.dtype()).unwrap();
    layout.place(spoilt, layer)
}

/// Trains the steps, from the checkpoint of `from` where there is one.
fn train<L: Layout>(
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
        let step: Step = amp.scaler.update(step).unwrap().resolve().unwrap();
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

/// Checks that every division of the model ends as the CPU alone does.
fn agrees(setting: Setting) -> State {
    let alone = train(&Cpu, setting, 0..STEPS, None);
    for (devices, layers) in LAYERS {
        let divided = train(&Divided::new(devices, layers), setting, 0..STEPS, None);
        assert_eq!(divided.reports, alone.reports, "{layers:?}");
        assert!(divided == alone, "{layers:?}, {:?} {}", setting.level, setting.dtype);
    }
    alone
}

#[test]
fn a_model_divided_among_devices_trains_with_the_bits_of_one() {
    for (level, dtype) in LEVELS {
        agrees(Setting::new(level, dtype));
    }
}

#[test]
fn an_overflow_on_any_device_skips_everywhere_halves_the_scale_once_and_names_the_parameter() {
    for (level, dtype) in LEVELS.into_iter().filter(|(_, dtype)| *dtype == DType::F16) {
        let start = level.with(dtype).loss_scale.start().factor();
        for name in ["0.weight", "1.bias", "2.weight"] {
            let setting = Setting { overflow: Some((2, 0, name)), ..Setting::new(level, dtype) };
            let state = agrees(setting);
            assert_eq!((state.scale.skipped, state.scale.overflows), (1, 1));
            assert_eq!(state.scale.factor(), start / 2.0);
            let report = &state.reports[2];
            assert!(report.contains(&format!("{name}[2] is +inf (1 infinite, 0 NaN")), "{report}");
        }
    }
}

#[test]
fn windows_and_the_norm_of_all_devices_give_the_bits_of_one_device() {
    for (level, dtype) in LEVELS {
        for (bad, overflow) in [
            (BadMicroBatch::SkipWindow, None),
            (BadMicroBatch::SkipWindow, Some((1, 1, "1.weight"))),
            (BadMicroBatch::Drop, Some((1, 0, "2.bias"))),
        ] {
            let setting = Setting::new(level, dtype);
            let (clip, micro_batches) = (Some(0.05), 3);
            let state = agrees(Setting { clip, micro_batches, overflow, bad, ..setting });
            let clipped = state.norms.iter().flatten().filter(|norm| f32::from_bits(**norm) > 0.05);
            assert!(clipped.count() > 2, "{:?}", state.norms);
        }
    }
}

#[test]
fn a_device_without_gradients_stays_as_it_is_and_the_report_lists_its_parameters() {
    let setting = Setting::new(OptLevel::O2, DType::F16);
    let setting = Setting { frozen: true, clip: Some(0.05), micro_batches: 2, ..setting };
    let state = agrees(setting);
    let report = &state.reports[0];
    assert!(report.contains("1.weight") && report.contains("1.bias"), "{report}");
}

#[test]
fn a_checkpoint_of_any_division_resumes_on_any_other() {
    let setting = Setting::new(OptLevel::O2, DType::F16);
    let setting = Setting { overflow: Some((4, 0, "2.weight")), ..setting };
    let whole = train(&Cpu, setting, 0..STEPS, None);
    let two = Divided::new(2, [0, 0, 1]);
    let (half, half_of_two) = (train(&Cpu, setting, 0..3, None), train(&two, setting, 0..3, None));
    assert!(half.checkpoint == half_of_two.checkpoint);
    for from in [&half, &half_of_two] {
        let file = |state: State| state.checkpoint;
        let whole = file(train(&Cpu, setting, 0..STEPS, None));
        assert!(file(train(&Cpu, setting, 3..STEPS, Some(from))) == whole);
        assert!(file(train(&two, setting, 3..STEPS, Some(from))) == whole);
        let three = Divided::new(3, [2, 0, 1]);
        assert!(file(train(&three, setting, 3..STEPS, Some(from))) == whole);
    }
    assert_eq!(whole.scale.skipped, 1);
}
