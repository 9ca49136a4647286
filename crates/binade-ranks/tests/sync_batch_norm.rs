//! Batch normalisation over all ranks' batches: one rank with the whole batch is the reference.

#![allow(clippy::cast_precision_loss, reason = "the numbers are small")]

use crate::common::{Error, Rank, each};
use binade_autocast::Region;
use binade_core::ops::{
    BatchNormConfig, RunningStats, SyncBatchNorm as _, SyncBatchNormOutput, Upload,
};
use binade_core::{DType, Error as _, ErrorKind, Named};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradScaler as _, ScaleState};
use binade_ranks::{Desync, Group as _, RankGrads, Ranks, RanksError};
use binade_tape::Tape;

/// Shape of the whole batch.
const SHAPE: [usize; 4] = [8, 3, 2, 2];
const IMAGE: usize = 3 * 2 * 2;

/// Numbers of images of each rank, 8 together.
const SPLITS: [&[usize]; 7] =
    [&[8], &[4, 4], &[2, 2, 2, 2], &[5, 3], &[1, 4, 1, 2], &[7, 0, 1, 0], &[1, 7]];

/// Results of a pass on one rank, of all its images.
#[derive(Clone, Debug, Default)]
struct Passed {
    output: Vec<f32>,
    input_grad: Vec<f32>,
    /// Gradients of weight and bias, averaged over the ranks.
    averages: Vec<Vec<f32>>,
    running: [Vec<f32>; 2],
}

fn values(count: usize, [least, width]: [f32; 2], seed: usize) -> Vec<f32> {
    (0..count).map(|i| least + width * ((i + seed) as f32 * 0.618_034).fract()).collect()
}

fn running(rank: &Rank, channels: usize) -> RunningStats<Tensor> {
    let vector = |least| rank.upload(&values(channels, [least, 1.0], 5), &[channels], DType::F32);
    RunningStats { mean: vector(-0.5).unwrap(), var: vector(0.5).unwrap() }
}

/// Runs this rank's `images` of 8 through the layer and its backward, and unscales. The loss of a rank is the sum over its images, divided by the
/// number of all images and multiplied by the number of ranks: the average over ranks is then the mean.
fn pass(rank: &Rank, images: std::ops::Range<usize>, [dtype, of_parameters]: [DType; 2]) -> Passed {
    let ranks = rank.group().ranks();
    let shape = [images.len(), SHAPE[1], SHAPE[2], SHAPE[3]];
    let part = |all: Vec<f32>| all[images.start * IMAGE..images.end * IMAGE].to_vec();
    let put = |values: &[f32], shape: &[usize], dtype| rank.upload(values, shape, dtype).unwrap();
    let tape = Tape::new(rank.clone(), &Region::f16().off());
    let named = |name: &str, tensor| tape.parameter(&Named::new(name, tensor));
    let x = named("x", put(&part(values(8 * IMAGE, [-2.0, 5.0], 1)), &shape, dtype));
    let weight = named("weight", put(&values(3, [0.5, 1.0], 2), &[3], of_parameters));
    let bias = named("bias", put(&values(3, [-0.5, 1.0], 3), &[3], of_parameters));
    let (output, moved) =
        x.sync_batch_norm(&weight, &bias, &running(rank, 3), BatchNormConfig::default()).unwrap();
    // Gradients of the output that depend on the image.
    let slopes = part(values(8 * IMAGE, [-1.0, 2.0], 4));
    let slopes = tape.constant(put(&slopes, &shape, dtype));
    let loss = output.mul(&slopes).unwrap().sum().unwrap();
    let loss = loss.scaled_by(ranks as f32 / 8.0).unwrap();
    let grads: Vec<Named<Option<Tensor>>> = loss.backward().unwrap();
    let [x, parameters @ ..] = &grads[..] else { panic!("{grads:?}") };
    let mut set = RankGrads::from(parameters.to_vec());
    rank.unscale(&mut set, &ScaleState::from_exponent(0)).unwrap();
    let read = |tensor: &Tensor| tensor.to_f32().into_owned();
    let averages = binade_core::GradSet::materialise(rank, set).unwrap();
    Passed {
        output: read(output.tensor()),
        // Each rank's own loss counts as one of as many.
        input_grad: read(x.value.as_ref().unwrap()).iter().map(|g| g / ranks as f32).collect(),
        averages: averages.iter().map(|grad| read(grad.value.as_ref().unwrap())).collect(),
        running: [read(&moved.mean), read(&moved.var)],
    }
}

/// Joins all ranks' results, after checking that averages and running statistics have the same bits on every rank.
fn on_ranks(split: &[usize], types: [DType; 2]) -> Passed {
    let first = |rank: usize| split[..rank].iter().sum::<usize>();
    let all = each(split.len(), |group| {
        let own = first(group.rank())..first(group.rank() + 1);
        pass(&Ranks::new(Cpu, group), own, types)
    });
    for other in &all {
        assert_eq!((&other.running, &other.averages), (&all[0].running, &all[0].averages));
    }
    let joined = |of: fn(&Passed) -> &Vec<f32>| all.iter().flat_map(of).copied().collect();
    let (output, input_grad) = (joined(|one| &one.output), joined(|one| &one.input_grad));
    Passed { output, input_grad, ..all[0].clone() }
}

/// Asserts that each value is within `room` of the other, relative to the larger of it and 1.
#[track_caller]
fn near(found: &[f32], wanted: &[f32], room: f32, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() <= room * wanted.abs().max(1.0), "{what}: {found} {wanted}");
    }
}

/// Compares any number of ranks with one device's own batch norm over the whole batch. What is stored in sixteen bits may round
/// the other way: a unit in the last place is `unit`.
fn compare(types: [DType; 2], unit: f32) {
    let one = {
        let whole = each(1, |group| whole(&Ranks::new(Cpu, group), types));
        whole.into_iter().next().unwrap()
    };
    for split in SPLITS {
        let found = on_ranks(split, types);
        let what = format!("{split:?} {types:?}");
        near(&found.output, &one.output, unit, &format!("output of {what}"));
        near(&found.input_grad, &one.input_grad, unit, &format!("input's gradient of {what}"));
        for (found, wanted) in found.averages.iter().zip(&one.averages) {
            near(found, wanted, if types[1] == DType::F32 { 1e-5 } else { unit }, &what);
        }
        for (found, wanted) in found.running.iter().zip(&one.running) {
            near(found, wanted, 1e-5, &format!("running statistics of {what}"));
        }
    }
}

/// Returns the results of the pass with the device's own `batch_norm`, in which ranks do not meet.
fn whole(rank: &Rank, [dtype, of_parameters]: [DType; 2]) -> Passed {
    use binade_core::ops::BatchNorm as _;
    let put = |values: &[f32], shape: &[usize], dtype| rank.upload(values, shape, dtype).unwrap();
    let x = put(&values(8 * IMAGE, [-2.0, 5.0], 1), &SHAPE, dtype);
    let [weight, bias] = [([0.5, 1.0], 2), ([-0.5, 1.0], 3)]
        .map(|(range, seed)| put(&values(3, range, seed), &[3], of_parameters));
    let config = BatchNormConfig::default();
    let done = Cpu.batch_norm(&x, &weight, &bias, &running(rank, 3), config).unwrap();
    let slopes = put(&values(8 * IMAGE, [-1.0, 2.0], 4), &SHAPE, dtype);
    let g = slopes.to_f32().iter().map(|slope| slope / 8.0).collect::<Vec<_>>();
    let grads = Cpu.batch_norm_backward(&put(&g, &SHAPE, dtype), &x, &weight, config.eps).unwrap();
    let read = |tensor: &Tensor| tensor.to_f32().into_owned();
    Passed {
        output: read(&done.output),
        input_grad: read(&grads.input),
        averages: vec![read(&grads.weight), read(&grads.bias)],
        running: [read(&done.running.mean), read(&done.running.var)],
    }
}

#[test]
fn eight_images_on_any_number_of_ranks_are_as_on_one() {
    compare([DType::F32; 2], 1e-5);
}

#[test]
fn eight_images_of_sixteen_bits_differ_by_a_unit_of_the_last_place_at_most() {
    compare([DType::F16, DType::F32], 1.0 / 1024.0);
    compare([DType::BF16, DType::F32], 1.0 / 128.0);
    compare([DType::F16; 2], 1.0 / 1024.0);
}

/// Normalises a batch `[n, channels]` by one call, from `mean` as the running one.
fn normalised(
    rank: &Rank,
    [n, channels]: [usize; 2],
    mean: f32,
) -> Result<SyncBatchNormOutput<Tensor>, Error> {
    let vector = |value| rank.upload(&vec![value; channels], &[channels], DType::F32);
    let x = rank.upload(&values(n * channels, [-1.0, 2.0], 1), &[n, channels], DType::F32)?;
    let running = RunningStats { mean: vector(mean)?, var: vector(1.0)? };
    let config = BatchNormConfig::default();
    rank.sync_batch_norm(&x, &vector(1.0)?, &vector(0.0)?, &running, config)
}

/// Returns the difference that both ranks report.
fn apart(run: impl Fn(&Rank) -> Result<(), Error> + Sync) -> Desync {
    let heard = each(2, |group| match run(&Ranks::new(Cpu, group)).unwrap_err() {
        RanksError::Desync(desync) => desync,
        error => panic!("{error}"),
    });
    assert_eq!(heard[0], heard[1]);
    heard[0].clone()
}

#[test]
fn ranks_of_other_channels_or_running_statistics_hear_of_them() {
    let what = "the channels, numbers or running statistics of a batch normalisation";
    let desync = apart(|rank| normalised(rank, [4, 2 + rank.group().rank()], 0.0).map(drop));
    assert_eq!((desync.what, &desync.ranks[..]), (what, &[1][..]));
    assert!(desync.values[0].starts_with("2 channels of f32, "), "{desync}");
    assert!(desync.values[1].starts_with("3 channels of f32, "), "{desync}");

    let desync = apart(|rank| normalised(rank, [4, 2], rank.group().rank() as f32).map(drop));
    assert_eq!(desync.what, what);
    assert_ne!(desync.values[0], desync.values[1]);
}

#[test]
fn a_rank_that_goes_back_where_another_goes_on_hears_of_the_calls() {
    let desync = apart(|rank| {
        let done = normalised(rank, [4, 2], 0.0)?;
        if rank.group().rank() == 0 {
            return normalised(rank, [4, 2], 0.0).map(drop);
        }
        let weight = rank.upload(&[1.0; 2], &[2], DType::F32)?;
        let y = done.output;
        rank.sync_batch_norm_backward(&y, &y, &weight, &done.batch, 1e-5).map(drop)
    });
    assert_eq!(desync.what, "their call");
    assert!(desync.values[0].starts_with("`sync_batch_norm` in"), "{desync}");
    assert!(desync.values[1].starts_with("`sync_batch_norm_backward` in"), "{desync}");
}

#[test]
fn one_value_a_channel_on_all_ranks_together_is_refused_by_all() {
    let kinds = each(2, |group| {
        let n = group.rank();
        normalised(&Ranks::new(Cpu, group), [n, 3], 0.0).unwrap_err()
    });
    for error in kinds {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("1 value(s) a channel"), "{error}");
    }
    let done = each(2, |group| normalised(&Ranks::new(Cpu, group), [1, 3], 0.0).is_ok());
    assert_eq!(done, [true, true]);
}

#[test]
fn operands_that_do_not_fit_are_this_ranks_own_error_and_the_others_hear_of_it() {
    let errors = each(2, |group| {
        let is_wrong = group.rank() == 1;
        let rank = Ranks::new(Cpu, group);
        let x = rank.upload(&[1.0, 2.0, 3.0, 5.0], &[2, 2], DType::F32).unwrap();
        let vector = |len| rank.upload(&vec![1.0; len], &[len], DType::F32).unwrap();
        let len = if is_wrong { 3 } else { 2 };
        let running = RunningStats { mean: vector(len), var: vector(2) };
        let config = BatchNormConfig::default();
        rank.sync_batch_norm(&x, &vector(2), &vector(2), &running, config).unwrap_err()
    });
    assert!(matches!(errors[0], RanksError::Desync(_)), "{}", errors[0]);
    assert!(matches!(errors[1], RanksError::Operands(_)), "{}", errors[1]);
    assert_eq!(errors[1].kind(), ErrorKind::Mismatch);
}

#[test]
fn a_recomputed_part_meets_again_and_gives_the_same_bits() {
    let gradients = |recompute: bool| {
        each(2, move |group| {
            let own = group.rank();
            let rank = Ranks::new(Cpu, group);
            let tape = Tape::new(rank.clone(), &Region::f16().off());
            let put =
                |values: &[f32], shape: &[usize]| rank.upload(values, shape, DType::F32).unwrap();
            let x = Named::new("x", put(&values(12, [-1.0, 2.0], own), &[4, 3]));
            let w = Named::new("w", put(&values(3, [0.5, 1.0], 2), &[3]));
            let (x, w) = (tape.parameter(&x), tape.parameter(&w));
            let stats = running(&rank, 3);
            let part = move |of: &[binade_tape::Var<Rank>]| {
                let config = BatchNormConfig::default();
                of[0].sync_batch_norm(&of[1], &of[1], &stats, config)?.0.gelu()
            };
            let y = if recompute {
                tape.recompute(&[&x, &w], part).unwrap()
            } else {
                part(&[x, w]).unwrap()
            };
            let grads: Vec<Named<Option<Tensor>>> = y.sum().unwrap().backward().unwrap();
            let read =
                |grad: &Named<Option<Tensor>>| grad.value.as_ref().unwrap().to_f32().into_owned();
            grads.iter().map(read).collect::<Vec<_>>()
        })
    };
    let kept = gradients(false);
    assert_eq!(kept, gradients(true));
    assert_ne!(kept[0][0], kept[1][0]);
}

#[test]
fn what_is_not_finite_on_one_rank_reaches_its_channel_on_all() {
    let outputs = each(2, |group| {
        let mut x = values(8, [-1.0, 2.0], 1);
        if group.rank() == 1 {
            x[2] = f32::INFINITY;
        }
        let rank = Ranks::new(Cpu, group);
        let vector = |value| rank.upload(&[value; 2], &[2], DType::F32).unwrap();
        let x = rank.upload(&x, &[4, 2], DType::F32).unwrap();
        let running = RunningStats { mean: vector(0.0), var: vector(1.0) };
        let config = BatchNormConfig::default();
        let done = rank.sync_batch_norm(&x, &vector(1.0), &vector(0.0), &running, config).unwrap();
        done.output.to_f32().into_owned()
    });
    for output in outputs {
        assert!(output.chunks(2).all(|image| image[0].is_nan() && image[1].is_finite()));
    }
}
