//! Training with a tape for a few steps, each with eight shards on any number of ranks. The tests of engines include it.

use binade::prelude::*;
use binade_checkpoint::{Checkpoint, Draft};
use binade_core::{DType, Named, NamedGrads};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{BadMicroBatch, LossScale, Step};
use binade_master_weights::UpdateRule;
use binade_ranks::{Group, RankGrads, Ranks, RanksError, Shards};
use binade_tape::{Tape, TapeError, Var};
use fastrand::Rng;
use std::ops::Range;

type Outcome<T> = Result<T, TapeError<RanksError<binade_cpu::Error>>>;

const SHARDS: usize = 8;
const ROWS: usize = 2;
pub(crate) const STEPS: usize = 6;
/// Bytes of a bucket. The model fills two or three.
pub(crate) const BUCKET: usize = 64;
const WIDTHS: [usize; 3] = [5, 7, 3];

#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) level: OptLevel,
    pub(crate) dtype: DType,
    pub(crate) rule: UpdateRule,
    pub(crate) clip: Option<f32>,
    pub(crate) micro_batches: usize,
    /// Step and shard of which a gradient is infinite.
    pub(crate) overflow: Option<(usize, usize)>,
    pub(crate) loss_scale: Option<LossScale>,
    /// True if gradients are reported one by one during backward.
    pub(crate) is_told: bool,
}

impl Setting {
    pub(crate) fn new(level: OptLevel, dtype: DType) -> Self {
        let rule = UpdateRule::adamw(0.01);
        let (clip, micro_batches, overflow, loss_scale) = (None, 1, None, None);
        let is_told = false;
        Self { level, dtype, rule, clip, micro_batches, overflow, loss_scale, is_told }
    }

    pub(crate) fn properties(&self) -> Properties {
        let properties = self.level.with(self.dtype);
        let loss_scale = self.loss_scale.unwrap_or(properties.loss_scale);
        Properties { loss_scale, ..properties }
    }
}

pub(crate) const LEVELS: [(OptLevel, DType); 7] = [
    (OptLevel::O0, DType::F32),
    (OptLevel::O1, DType::BF16),
    (OptLevel::O1, DType::F16),
    (OptLevel::O2, DType::BF16),
    (OptLevel::O2, DType::F16),
    (OptLevel::O3, DType::BF16),
    (OptLevel::O3, DType::F16),
];

impl Setting {
    /// Returns the setting with clips and windows of three micro-batches.
    pub(crate) fn with_windows(self) -> Self {
        Self { clip: Some(0.05), micro_batches: 3, ..self }
    }

    /// Returns the setting with clips, and an overflow of one shard.
    pub(crate) fn with_overflow(self) -> Self {
        let (overflow, rule) = (Some((2, 5)), UpdateRule::sgd(0.05));
        Self { overflow, rule, clip: Some(0.05), ..self }
    }

    /// Returns the setting with a predicted scale, and an overflow of one shard.
    pub(crate) fn with_prediction(self) -> Self {
        let loss_scale = Some(LossScale::preset("log-max").unwrap());
        Self { loss_scale, overflow: Some((1, 0)), micro_batches: 2, ..self }
    }
}

/// State at the end of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct State {
    /// File of parameters, masters, moments, the scale and its counters.
    pub(crate) checkpoint: Vec<u8>,
    pub(crate) scale: ScaleState,
    /// Report of each step, with parameter and element of an overflow. The rank is removed, since it depends on the number of ranks.
    pub(crate) reports: Vec<String>,
}

fn values(random: &mut Rng, len: usize) -> Vec<f32> {
    (0..len).map(|_| random.f32() - 0.5).collect()
}

fn params(seed: u64) -> Vec<Named<Tensor>> {
    let mut random = Rng::with_seed(seed);
    let shapes = [vec![WIDTHS[1], WIDTHS[0]], vec![WIDTHS[1]], vec![WIDTHS[2], WIDTHS[1]]];
    let names = ["hidden.weight", "hidden.bias", "head.weight"];
    let param = |(name, shape): (&str, Vec<usize>)| {
        let len = shape.iter().product();
        Named::new(name, Tensor::new(values(&mut random, len), &shape).unwrap())
    };
    names.into_iter().zip(shapes).map(param).collect()
}

/// Loss of one shard, whose rows its number and the step decide.
fn loss<G: Group>(
    rank: &Ranks<Cpu, G>,
    amp: &Amp<Ranks<Cpu, G>>,
    seed: usize,
) -> Outcome<Var<Ranks<Cpu, G>>> {
    let mut random = Rng::with_seed(seed as u64);
    let mut rows = |width| Tensor::new(values(&mut random, ROWS * width), &[ROWS, width]).unwrap();
    let tape = Tape::new(rank.clone(), &amp.region);
    let p = tape.parameters(&amp.optimizer.params);
    let (x, y) = (tape.constant(rows(WIDTHS[0])), tape.constant(rows(WIDTHS[2])));
    let hidden = x.cast(p[0].dtype())?.linear(&p[0], Some(&p[1]))?.relu()?;
    hidden.linear(&p[2], None)?.cast(DType::F32)?.mse_loss(&y)
}

/// Returns a gradient with an infinite element.
fn spoilt(grad: &Tensor) -> Tensor {
    let mut elements = grad.to_f32().into_owned();
    elements[4] = f32::INFINITY;
    Tensor::from_f32(elements, grad.shape(), grad.dtype()).unwrap()
}

/// Returns the gradients of the losses of this rank's `shards`, of which one may be spoilt.
fn backward<G: Group>(
    rank: &Ranks<Cpu, G>,
    losses: &[Var<Ranks<Cpu, G>>],
    (params, is_told): (&Vec<Named<Tensor>>, bool),
    is_spoilt: impl Fn(usize) -> bool,
) -> Outcome<RankGrads<Cpu>> {
    let entered = |place: usize, grad: Named<Option<Tensor>>| {
        let bad = is_spoilt(place) && &*grad.name == "head.weight";
        Named { value: grad.value.map(|it| if bad { spoilt(&it) } else { it }), ..grad }
    };
    if is_told {
        let mut places = 0..;
        return rank.backward(params, losses, |loss, tell| {
            let place = places.next().unwrap();
            loss.backward_each(|grad| Ok(tell(entered(place, grad))?))
        });
    }
    let of = |(place, loss): (usize, &Var<Ranks<Cpu, G>>)| -> Outcome<NamedGrads<Tensor>> {
        let grads: NamedGrads<Tensor> = loss.backward()?;
        Ok(grads.into_iter().map(|grad| entered(place, grad)).collect())
    };
    losses.iter().enumerate().map(of).collect()
}

/// Trains the steps, from the weights and the scale of `from` where there is one.
pub(crate) fn train(
    rank: &Ranks<Cpu, impl Group>,
    setting: Setting,
    steps: Range<usize>,
    from: Option<&State>,
) -> State {
    let (own, ranks) = (rank.group().rank(), rank.group().ranks());
    // Ranks begin with different weights; those of rank 0 are used.
    let model = Model::new(params(1 + own as u64));
    let mut amp = initialize(rank.clone(), model, setting.rule, setting.properties()).unwrap();
    if let Some(from) = from {
        let checkpoint = Checkpoint::from_bytes(&from.checkpoint).unwrap();
        let mut restore = checkpoint.restore();
        restore.scaler("loss", &mut amp.scaler).unwrap();
        restore.optimizer("model", &mut amp.optimizer).unwrap();
        restore.finish().unwrap();
    }
    let (mut draft, mut reports) = (Draft::fresh(), Vec::new());
    for number in steps {
        let mut window = amp.scaler.accumulate(BadMicroBatch::SkipWindow);
        for micro_batch in 0..setting.micro_batches {
            let shards = own * SHARDS / ranks..(own + 1) * SHARDS / ranks;
            let seed = |shard| (number * setting.micro_batches + micro_batch) * SHARDS + shard;
            let losses = shards.clone().map(|shard| loss(rank, &amp, seed(shard)));
            let losses = Shards(losses.collect::<Result<Vec<_>, _>>().unwrap());
            let scaled = amp.scaler.scale(&losses).unwrap();
            let told = (&amp.optimizer.params, setting.is_told);
            let is_spoilt = |place| setting.overflow == Some((number, shards.start + place));
            let grads = scaled.backward(|losses| backward(rank, &losses.0, told, is_spoilt));
            window.add(grads.unwrap().unscale().unwrap()).unwrap();
        }
        let mut grads = window.finish().unwrap().unwrap();
        if let Some(max) = setting.clip {
            grads = grads.clip_norm(max).unwrap();
        }
        let step = grads.step(&mut amp.optimizer).unwrap();
        let step: Step = amp.scaler.update(step).unwrap().resolve().unwrap();
        draft = Draft::after(&step);
        let report = step.report();
        let overflow = report.overflow().map(|overflow| overflow.rank);
        if let Some((_, shard)) = setting.overflow.filter(|(step, _)| *step == number) {
            let rank = u32::try_from(shard * ranks / SHARDS).ok().filter(|_| ranks > 1);
            assert_eq!(overflow, Some(rank), "{report}");
        }
        let rank = overflow.flatten().map_or(String::new(), |rank| format!(" of rank {rank}"));
        reports.push(report.to_string().replace(&rank, ""));
    }
    let draft = draft.scaler("loss", &amp.scaler).unwrap();
    let checkpoint = draft.optimizer("model", &amp.optimizer).unwrap().finish().unwrap();
    State {
        checkpoint: checkpoint.to_bytes().unwrap(),
        scale: amp.scaler.state().unwrap(),
        reports,
    }
}
