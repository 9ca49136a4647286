//! `Ranks` of which one is on this device and the other on the CPU.

use crate::support::{Device, Result, coarse, exact, gpu, noise, vector};
use binade_core::ops::{
    BatchNorm as _, BatchNormConfig, RunningStats, SyncBatchNorm as _, SyncBatchNormOutput,
};
use binade_core::{DType, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{GradOps, GradScaler, Norm, ScaleState};
use binade_master_weights::{MasterWeights, OptimizerConfig, UpdateRule};
use binade_ranks::{Group as _, Partition, RankDevice, RankGrads, Ranks, Threads, threads};
use std::sync::Arc;
use std::time::Duration;

crate::tests![
    this_device_and_the_cpu_train_one_model_with_the_same_bits,
    this_device_and_the_cpu_normalise_their_images_as_one_batch,
];

/// Trains as one rank. Returns the parameters' bits after each step, and the name of each step's overflow.
fn trained<D: Device + RankDevice>(
    device: &D,
    group: Threads,
    partition: Partition,
) -> Vec<(Vec<u8>, Option<Arc<str>>)> {
    let (own, len) = (group.rank() as u64, 1000);
    let rank = Ranks::new(device.clone(), group).with_partition(partition);
    let config = OptimizerConfig::new(UpdateRule::Sgd(exact())).unwrap().with_storage(DType::F16);
    // Of one element one rank has an empty slice.
    let one = |values: &[f32], dtype| vector(device, &values[..1], dtype);
    let values = coarse(own, len);
    let mut params = vec![
        Named::new("w", vector(device, &values, DType::F32)),
        Named::new("one", one(&values, DType::F32)),
    ];
    let mut masters = rank.masters(&mut params, &config).unwrap();
    let step = |number: u64| {
        let mut values = coarse(10 * number + own, len);
        if (number, own) == (1, 1) {
            values[7] = f32::INFINITY;
        }
        let mut grads = RankGrads::from(vec![
            Named::new("w", Some(vector(device, &values, DType::F16))),
            Named::new("one", Some(one(&values, DType::F16))),
        ]);
        let mut found = rank.unscale(&mut grads, &ScaleState::from_exponent(2)).unwrap();
        rank.clip_norm(&mut grads, Norm::Infinity, 8.0, &mut found).unwrap();
        rank.step(&mut params, &mut masters, grads, &found).unwrap();
        let bits = params.iter().flat_map(|param| device.bits(&param.value)).collect();
        (bits, found.overflow.map(|overflow| overflow.parameter))
    };
    (0..3).map(step).collect()
}

fn this_device_and_the_cpu_train_one_model_with_the_same_bits() -> Result {
    for (own, partition) in [0, 1]
        .into_iter()
        .flat_map(|own| [Partition::Whole, Partition::Slices].map(|partition| (own, partition)))
    {
        let mut groups = threads(2, Duration::from_mins(5));
        let (group, other) = (groups.remove(own), groups.remove(0));
        let [here, there] = std::thread::scope(|threads| {
            let there = threads.spawn(|| trained(&Cpu, other, partition));
            [trained(&gpu(), group, partition), there.join().unwrap()]
        });
        assert_eq!(here, there, "{partition:?}");
        assert!(here[0].0 == here[1].0 && here[1].0 != here[2].0, "the second step is skipped");
        assert_eq!(here[1].1.as_deref(), Some("w"));
    }
    Ok(())
}

/// Images of both ranks, of which each has these, and of one image's shape.
const IMAGES: [std::ops::Range<usize>; 2] = [0..3, 3..8];
const IMAGE: [usize; 3] = [5, 2, 3];

/// Images, weight and bias, running statistics, and gradient of a normalisation: a rank's part of them.
type Operands<T> = ([T; 2], [T; 2], RunningStats<T>);

fn operands<D: Device>(
    device: &D,
    images: std::ops::Range<usize>,
    dtype: DType,
) -> Operands<D::Tensor> {
    let (each, channels) = (IMAGE.iter().product::<usize>(), IMAGE[0]);
    let [x, g] = [1, 2].map(|seed| {
        let all: Vec<f32> = noise(seed, each * 8).iter().map(|x| 3.0 * x + 1.0).collect();
        let part = &all[images.start * each..images.end * each];
        device.upload(part, &[&[images.len()][..], &IMAGE].concat(), dtype).unwrap()
    });
    let vector = |seed| {
        let values: Vec<f32> = noise(seed, channels).iter().map(|x| x.abs() + 0.5).collect();
        vector(device, &values, DType::F32)
    };
    ([x, g], [vector(3), vector(4)], RunningStats { mean: vector(5), var: vector(6) })
}

/// Normalises a rank's images and goes back. Returns output, gradients and running statistics.
fn normalised<D: Device + RankDevice>(device: &D, group: Threads, dtype: DType) -> [Vec<f32>; 6] {
    let ([x, g], [w, b], running) = operands(device, IMAGES[group.rank()].clone(), dtype);
    let (rank, config) = (Ranks::new(device.clone(), group), BatchNormConfig::default());
    let SyncBatchNormOutput { output, running, batch } =
        rank.sync_batch_norm(&x, &w, &b, &running, config).unwrap();
    let grads = rank.sync_batch_norm_backward(&g, &x, &w, &batch, config.eps).unwrap();
    let all = [&output, &grads.input, &grads.weight, &grads.bias, &running.mean, &running.var];
    all.map(|tensor| device.download(tensor).unwrap())
}

fn this_device_and_the_cpu_normalise_their_images_as_one_batch() -> Result {
    // A unit of the last place beside what is summed otherwise.
    for (dtype, room) in
        [(DType::F32, 1e-5), (DType::F16, 1.0 / 1024.0), (DType::BF16, 1.0 / 128.0)]
    {
        let ([x, g], [w, b], running) = operands(&Cpu, 0..8, dtype);
        let config = BatchNormConfig::default();
        let whole = Cpu.batch_norm(&x, &w, &b, &running, config)?;
        let grads = Cpu.batch_norm_backward(&g, &x, &w, config.eps)?;
        for own in [0, 1] {
            let mut groups = threads(2, Duration::from_mins(5));
            let (group, other) = (groups.remove(own), groups.remove(0));
            let (here, there) = std::thread::scope(|threads| {
                let there = threads.spawn(|| normalised(&Cpu, other, dtype));
                (normalised(&gpu(), group, dtype), there.join().unwrap())
            });
            let [first, last] = if own == 0 { [&here, &there] } else { [&there, &here] };
            let joined = |at: usize| [&first[at][..], &last[at]].concat();
            let summed = |at: usize| -> Vec<f32> {
                first[at].iter().zip(&last[at]).map(|(a, b)| a + b).collect()
            };
            near(&joined(0), &whole.output.to_f32(), room);
            near(&joined(1), &grads.input.to_f32(), room);
            near(&summed(2), &grads.weight.to_f32(), 1e-5);
            near(&summed(3), &grads.bias.to_f32(), 1e-5);
            near(&here[4], &whole.running.mean.to_f32(), 1e-5);
            near(&here[5], &whole.running.var.to_f32(), 1e-5);
            assert_eq!(here[4..], there[4..]);
        }
    }
    Ok(())
}

#[track_caller]
fn near(found: &[f32], wanted: &[f32], room: f32) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() <= room * wanted.abs().max(1.0), "{found} {wanted}");
    }
}
