//! Training with a tape at every level: eight shards give one set of bits on 1, 2, 4 and 8 ranks.

use crate::common::{Rank, each};
use binade::prelude::*;
use binade_checkpoint::{Checkpoint, Draft};
use binade_core::{DType, Named, NamedGrads};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{BadMicroBatch, LossScale, Step};
use binade_master_weights::UpdateRule;
use binade_ranks::{Group, RankGrads, Ranks, Shards, Threads};
use binade_tape::{Tape, TapeError, Var};
use fastrand::Rng;
use std::ops::Range;

const SHARDS: usize = 8;
const ROWS: usize = 2;
const STEPS: usize = 6;
const WIDTHS: [usize; 3] = [5, 7, 3];

#[derive(Clone, Copy)]
struct Setting {
    level: OptLevel,
    dtype: DType,
    rule: UpdateRule,
    clip: Option<f32>,
    micro_batches: usize,
    /// Step and shard of which a gradient is infinite.
    overflow: Option<(usize, usize)>,
    loss_scale: Option<LossScale>,
}

impl Setting {
    fn new(level: OptLevel, dtype: DType) -> Self {
        let rule = UpdateRule::adamw(0.01);
        let (clip, micro_batches, overflow, loss_scale) = (None, 1, None, None);
        Self { level, dtype, rule, clip, micro_batches, overflow, loss_scale }
    }

    fn properties(&self) -> Properties {
        let properties = self.level.with(self.dtype);
        let loss_scale = self.loss_scale.unwrap_or(properties.loss_scale);
        Properties { loss_scale, ..properties }
    }
}

/// State at the end of a run.
#[derive(Debug, PartialEq)]
struct State {
    /// File of parameters, masters, moments, the scale and its counters.
    checkpoint: Vec<u8>,
    scale: ScaleState,
    /// Report of each step, which names parameter and element of an overflow.
    reports: Vec<String>,
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
fn loss(
    rank: &Rank,
    amp: &Amp<Rank>,
    seed: usize,
) -> Result<Var<Rank>, TapeError<crate::common::Error>> {
    let mut random = Rng::with_seed(seed as u64);
    let mut rows = |width| Tensor::new(values(&mut random, ROWS * width), &[ROWS, width]).unwrap();
    let tape = Tape::new(rank.clone(), &amp.region);
    let p = tape.parameters(&amp.optimizer.params);
    let (x, y) = (tape.constant(rows(WIDTHS[0])), tape.constant(rows(WIDTHS[2])));
    let hidden = x.cast(p[0].dtype())?.linear(&p[0], Some(&p[1]))?.relu()?;
    hidden.linear(&p[2], None)?.cast(DType::F32)?.mse_loss(&y)
}

fn backward(
    loss: &Var<Rank>,
    spoilt: bool,
) -> Result<NamedGrads<Tensor>, TapeError<crate::common::Error>> {
    let mut grads: NamedGrads<Tensor> = loss.backward()?;
    if let (true, Some(grad)) = (spoilt, &mut grads[2].value) {
        let (dtype, shape) = (grad.dtype(), grad.shape().to_vec());
        let mut elements = grad.to_f32().into_owned();
        elements[4] = f32::INFINITY;
        *grad = Tensor::from_f32(elements, &shape, dtype).unwrap();
    }
    Ok(grads)
}

/// Trains the steps, from the weights and the scale of `from` where there is one.
fn train(group: Threads, setting: Setting, steps: Range<usize>, from: Option<&State>) -> State {
    let (own, ranks) = (group.rank(), group.ranks());
    let rank = Ranks::new(Cpu, group);
    // Ranks begin with other weights, of which those of rank 0 count.
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
    for step in steps {
        let mut window = amp.scaler.accumulate(BadMicroBatch::SkipWindow);
        for micro_batch in 0..setting.micro_batches {
            let shards = own * SHARDS / ranks..(own + 1) * SHARDS / ranks;
            let seed = |shard| (step * setting.micro_batches + micro_batch) * SHARDS + shard;
            let losses = shards.clone().map(|shard| loss(&rank, &amp, seed(shard)));
            let losses = Shards(losses.collect::<Result<Vec<_>, _>>().unwrap());
            let scaled = amp.scaler.scale(&losses).unwrap();
            let grads = scaled.backward(|losses| {
                let of = |(loss, shard)| backward(loss, setting.overflow == Some((step, shard)));
                let sets = losses.0.iter().zip(shards).map(of).collect::<Result<Vec<_>, _>>()?;
                Ok(RankGrads::from(sets))
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
        reports.push(step.report().to_string());
    }
    let draft = draft.scaler("loss", &amp.scaler).unwrap();
    let checkpoint = draft.optimizer("model", &amp.optimizer).unwrap().finish().unwrap();
    State {
        checkpoint: checkpoint.to_bytes().unwrap(),
        scale: amp.scaler.state().unwrap(),
        reports,
    }
}

/// Asserts that all ranks of all groups end alike, and returns how.
fn one_state(setting: Setting) -> State {
    let mut states: Vec<State> = [1, 2, 4, 8]
        .into_iter()
        .flat_map(|ranks| each(ranks, |group| train(group, setting, 0..STEPS, None)))
        .collect();
    let first = states.swap_remove(0);
    assert!(states.iter().all(|state| *state == first), "{:?}", setting.properties());
    first
}

const LEVELS: [(OptLevel, DType); 7] = [
    (OptLevel::O0, DType::F32),
    (OptLevel::O1, DType::BF16),
    (OptLevel::O1, DType::F16),
    (OptLevel::O2, DType::BF16),
    (OptLevel::O2, DType::F16),
    (OptLevel::O3, DType::BF16),
    (OptLevel::O3, DType::F16),
];

#[test]
fn every_level_has_one_set_of_bits_on_any_number_of_ranks() {
    for (level, dtype) in LEVELS {
        let state = one_state(Setting::new(level, dtype));
        assert_eq!(state.scale.updates, STEPS as u64);
    }
}

#[test]
fn clips_and_windows_have_one_set_of_bits_on_any_number_of_ranks() {
    for (level, dtype) in LEVELS {
        let setting = Setting { clip: Some(0.05), micro_batches: 3, ..Setting::new(level, dtype) };
        let state = one_state(setting);
        assert_eq!(state.scale.updates, STEPS as u64);
    }
}

#[test]
fn an_overflow_of_one_shard_skips_everywhere_and_every_report_names_it() {
    for (level, dtype) in LEVELS {
        let setting = Setting {
            overflow: Some((2, 5)),
            clip: Some(0.05),
            rule: UpdateRule::sgd(0.05),
            ..Setting::new(level, dtype)
        };
        let state = one_state(setting);
        assert_eq!((state.scale.overflows, state.scale.skipped), (1, 1), "{level} {dtype}");
        let report = &state.reports[2];
        assert!(report.contains("head.weight") && report.contains('4'), "{report}");
    }
}

#[test]
fn a_predicted_scale_has_one_set_of_bits_on_any_number_of_ranks() {
    let loss_scale = Some(LossScale::preset("log-max").unwrap());
    let setting = Setting { loss_scale, ..Setting::new(OptLevel::O2, DType::F16) };
    one_state(setting);
    one_state(Setting { overflow: Some((1, 0)), micro_batches: 2, ..setting });
}

#[test]
fn a_run_that_is_resumed_on_another_number_of_ranks_ends_with_the_bits_of_one_that_was_not() {
    let setting = Setting {
        overflow: Some((1, 3)),
        clip: Some(0.05),
        ..Setting::new(OptLevel::O2, DType::F16)
    };
    let whole = one_state(setting);
    let mut from = None;
    for (ranks, steps) in [(4, 0..2), (1, 2..3), (8, 3..STEPS)] {
        let mut states = each(ranks, |group| train(group, setting, steps.clone(), from.as_ref()));
        from = states.pop();
    }
    let resumed = from.unwrap();
    assert_eq!((resumed.checkpoint, resumed.scale), (whole.checkpoint, whole.scale));
}
