//! Training that the tests stop and resume: two parameters on any device, with gradients from a generator, some of them infinite.
#![allow(unreachable_pub, reason = "all of it is within the test program")]

#[path = "../../../../tests/rule/all.rs"]
mod all;
pub mod device;
pub mod processes;
pub mod ranks;
#[path = "../../../../tests/rule/mod.rs"]
mod rule;
#[path = "../../../../tests/rule/whole.rs"]
mod whole;

pub(crate) use all::{all_rules, rules};

use binade_checkpoint::{Checkpoint, Draft};
use binade_core::DType;
use binade_grad_scaler::{
    Accumulation, BadMicroBatch, LossScale, ScaleState, Scaler, Step, Tolerance, UnscaledGrads,
};
use binade_master_weights::{MasterOptimizer, MasterStore, OptimizerConfig, UpdateRule};
use device::Trains;
use std::fs;
use std::path::{Path, PathBuf};

/// Setup of a run.
#[derive(Clone, Debug)]
pub struct Setting {
    pub rule: UpdateRule,
    pub storage: DType,
    pub store: MasterStore,
    pub loss_scale: LossScale,
    /// Micro-batches a step.
    pub window: usize,
    pub bad: BadMicroBatch,
    /// Imported scale to start from, in place of the rule's.
    pub scale: Option<f32>,
    pub seed: u64,
}

impl Setting {
    pub fn new(rule: UpdateRule) -> Self {
        let (storage, store, window) = (DType::F16, MasterStore::Copy, 1);
        let (loss_scale, bad) = (moving(LossScale::dynamic()), BadMicroBatch::Drop);
        Self { rule, storage, store, loss_scale, window, bad, scale: None, seed: 7 }
    }

    pub fn config(&self) -> OptimizerConfig {
        let config = OptimizerConfig::new(self.rule).unwrap().with_store(self.store);
        let config = config.with_group(["norm"], self.rule.with_lr(self.rule.lr() / 4.0)).unwrap();
        config.with_storage(self.storage).keep(["norm"])
    }
}

/// Returns the rule with limits such that the scale changes within a few steps and the run does not diverge.
pub fn moving(rule: LossScale) -> LossScale {
    let rule = rule.with_growth_interval(3).unwrap().with_patience(1000);
    rule.with_limits(2.0_f32.powi(-20), 2.0_f32.powi(24)).unwrap()
}

/// Returns every kind of loss-scale rule: those that back off at once, tolerate overflows, and predict.
pub fn loss_scales() -> Vec<LossScale> {
    let tolerances = [
        Tolerance::UntilGoodStep { overflows: 2 },
        Tolerance::UntilGrowth { overflows: 2 },
        Tolerance::InARow { overflows: 2 },
        Tolerance::share(0.25).unwrap(),
    ];
    let tolerant = tolerances.map(|tolerance| LossScale::dynamic().with_tolerance(tolerance));
    let presets = LossScale::PRESETS.iter().map(|(_, rule)| *rule);
    presets.chain(tolerant).map(moving).collect()
}

/// Returns every store that takes parameters of this type.
pub fn stores(storage: DType) -> Vec<MasterStore> {
    let all = [
        MasterStore::Copy,
        MasterStore::NoMaster,
        MasterStore::Remainder,
        MasterStore::Stochastic { seed: 5 },
        MasterStore::Kahan,
        MasterStore::ScaledF16,
    ];
    all.into_iter().filter(|store| store.takes(storage)).collect()
}

/// Run that may be left at any micro-batch.
pub struct Training<D: Trains> {
    pub setting: Setting,
    pub scaler: Scaler<D>,
    pub optimizer: MasterOptimizer<D>,
    pub window: Option<Accumulation<D>>,
    pub random: fastrand::Rng,
    pub last: Option<Step>,
    /// Number of micro-batches so far.
    pub place: usize,
}

impl<D: Trains> Training<D> {
    pub fn new(device: &D, setting: &Setting) -> Self {
        let mut scaler = Scaler::new(device.clone(), setting.loss_scale).unwrap();
        if let Some(scale) = setting.scale {
            scaler.set_state(ScaleState::import(scale).unwrap()).unwrap();
        }
        let params = device.parameters();
        let optimizer = MasterOptimizer::new(device.clone(), params, setting.config()).unwrap();
        let (setting, random) = (setting.clone(), fastrand::Rng::with_seed(setting.seed));
        Self { setting, scaler, optimizer, window: None, random, last: None, place: 0 }
    }

    /// Runs `micro_batches`, with a step whenever a window is full.
    pub fn run(&mut self, micro_batches: usize) {
        for _ in 0..micro_batches {
            self.micro_batch();
        }
    }

    pub fn gradients(&mut self) -> UnscaledGrads<D> {
        let grads = gradients(&mut self.random);
        let device = self.scaler.device().clone();
        let loss = self.scaler.scale(&device.loss()).unwrap();
        let stored = self.setting.storage;
        let scaled = loss.backward(|_| Ok(device.gradients(&grads, stored)));
        scaled.unwrap().unscale().unwrap()
    }

    fn micro_batch(&mut self) {
        let grads = self.gradients();
        let opened = || self.scaler.accumulate(self.setting.bad);
        let mut window = self.window.take().unwrap_or_else(opened);
        window.add(grads).unwrap();
        self.place += 1;
        if self.place.is_multiple_of(self.setting.window) {
            self.step(window);
        } else {
            self.window = Some(window);
        }
    }

    fn step(&mut self, window: Accumulation<D>) {
        // The schedule makes learning rates part of the resumed state.
        let lr = self.optimizer.config().rule().lr() * 0.875;
        let config = self.optimizer.config().clone().with_lr(lr).unwrap();
        self.optimizer.set_config(config).unwrap();
        let grads = window.finish().unwrap().unwrap().clip_norm(2.0).unwrap();
        let step = grads.step(&mut self.optimizer).unwrap();
        self.last = Some(self.scaler.update(step).unwrap().resolve().unwrap());
    }

    pub fn checkpoint(&self) -> Checkpoint {
        let draft = match (&self.window, &self.last) {
            (Some(window), _) => Draft::within("window", window).unwrap(),
            (None, Some(step)) => Draft::after(step),
            (None, None) => Draft::fresh(),
        };
        let draft = draft.scaler("loss", &self.scaler).unwrap();
        let draft = draft.optimizer("model", &self.optimizer).unwrap();
        let draft = draft.blob("generator", self.random.get_seed().to_le_bytes());
        draft.word("place", self.place).finish().unwrap()
    }

    /// Returns a new run, restored to `checkpoint`.
    pub fn resumed(device: &D, setting: &Setting, checkpoint: &Checkpoint) -> Self {
        let mut run = Self::new(device, &Setting { scale: None, seed: 0, ..setting.clone() });
        let place: usize = checkpoint.words["place"].parse().unwrap();
        let seed = checkpoint.blobs["generator"].as_slice().try_into().unwrap();
        let mut restore = checkpoint.restore();
        if !place.is_multiple_of(setting.window) {
            let window = restore.window("window", &run.scaler, &run.optimizer.params);
            run.window = Some(window.unwrap());
        }
        restore.scaler("loss", &mut run.scaler).unwrap();
        restore.optimizer("model", &mut run.optimizer).unwrap();
        restore.finish().unwrap();
        // The outcome of the last step is not part of a checkpoint: the checkpoint itself begins the next one here.
        run.place = place;
        run.random = fastrand::Rng::with_seed(u64::from_le_bytes(seed));
        run
    }
}

/// Returns scaled gradients of both parameters, of every magnitude. Some are missing, and some are not finite.
fn gradients(random: &mut fastrand::Rng) -> [Option<Vec<f32>>; 2] {
    let mut one = |len: usize| {
        let missing = random.u8(..8) == 0;
        let mut grad: Vec<f32> = (0..len).map(|_| value(random)).collect();
        if random.u8(..6) == 0 {
            let wrong = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
            grad[random.usize(..len)] = wrong[random.usize(..3)];
        }
        (!missing).then_some(grad)
    };
    // At least one gradient is present, since a step without gradients is a separate error.
    [one(6).or_else(|| Some(vec![0.5; 6])), one(2)]
}

fn value(random: &mut fastrand::Rng) -> f32 {
    (random.f32() - 0.5) * 2.0_f32.powi(random.i32(-6..8))
}

/// Returns the bytes with a matching checksum.
pub fn resummed(mut bytes: Vec<u8>) -> Vec<u8> {
    let at = bytes.windows(6).position(|word| word == b"crc32 ").map(|place| place + 6);
    let Some(at) = at.filter(|at| at + 8 < bytes.len()) else { return bytes };
    bytes[at..at + 8].copy_from_slice(b"00000000");
    let sum = format!("{:08x}", crc32fast::hash(&bytes));
    bytes[at..at + 8].copy_from_slice(sum.as_bytes());
    bytes
}

/// Returns an empty folder for this test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("checkpoint").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns the names in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}
