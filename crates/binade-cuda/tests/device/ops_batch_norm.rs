//! Normalisation over the batch, against the CPU's.

use crate::{
    agree::{TYPES, Twin, Within, assert_agrees, assert_foreign, assert_refused, noisy, twin},
    support::{Result, cuda, noise, own},
};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_cuda::Tensor;
use binade_ops::{BatchNorm, BatchNormConfig, Download, RunningStats};

crate::tests![
    every_shape_is_normalised_by_channel_as_on_the_cpu,
    the_running_statistics_passed_in_keep_their_values,
    batch_norms_gradients_are_the_cpus,
    channels_of_many_samples_are_summed_up_in_chunks,
    a_batch_without_channels_is_nothing,
    a_channel_that_is_not_finite_is_nan_and_alone,
    batch_norm_refuses_what_the_cpu_refuses,
];

const CONFIG: BatchNormConfig = BatchNormConfig { momentum: 0.1, eps: 1e-5 };

/// A statistic that is rounded the other way moves a value by a unit of f32 of the largest.
const NEAR: Within = Within::Units(8.0, 1.0);

/// Runs of one element and more, of less than a group and more, and of whole groups; of one element, whole groups of channels too,
/// and more than are read together.
const SHAPES: [&[usize]; 10] = [
    &[2, 1],
    &[9, 11],
    &[3, 4, 5],
    &[2, 3, 4, 5],
    &[1, 2, 3, 3, 7],
    &[3, 3, 4, 6],
    &[5, 40],
    &[6, 48],
    &[2, 3, 8],
    &[4, 35],
];

/// Element types of input and parameters.
fn pairs() -> impl Iterator<Item = (DType, DType)> {
    let f32_too = TYPES.map(|dtype| (dtype, DType::F32));
    TYPES.map(|dtype| (dtype, dtype)).into_iter().chain(f32_too)
}

/// Running statistics of the device and of the CPU.
struct Running {
    here: RunningStats<Tensor>,
    there: RunningStats<binade_cpu::Tensor>,
}

fn running(channels: usize, offset: usize) -> Result<Running> {
    let mean = noisy(5, &[channels], DType::F32, offset)?;
    let vars: Vec<f32> = noise(6, channels).iter().map(|x| x.abs() + 0.1).collect();
    let var = twin(&vars, &[channels], DType::F32, 2)?;
    Ok(Running {
        here: RunningStats { mean: mean.here, var: var.here },
        there: RunningStats { mean: mean.there, var: var.there },
    })
}

fn assert_agrees_forward(x: &Twin, of_weight: DType, offset: usize, what: &str) -> Result {
    let channels = &x.there.shape()[1..2];
    let w = noisy(2, channels, of_weight, offset % 2)?;
    let b = noisy(3, channels, of_weight, offset % 3)?;
    let stats = running(channels[0], offset % 2)?;
    let got = cuda().batch_norm(&x.here, &w.here, &b.here, &stats.here, CONFIG)?;
    let want = Cpu.batch_norm(&x.there, &w.there, &b.there, &stats.there, CONFIG)?;
    assert_agrees(&got.output, &want.output, NEAR, what)?;
    assert_agrees(&got.running.mean, &want.running.mean, NEAR, &format!("{what} mean"))?;
    assert_agrees(&got.running.var, &want.running.var, NEAR, &format!("{what} var"))?;
    let got = cuda().batch_norm_inference(&x.here, &w.here, &b.here, &stats.here, CONFIG.eps)?;
    let want = Cpu.batch_norm_inference(&x.there, &w.there, &b.there, &stats.there, CONFIG.eps)?;
    // Nothing is summed up.
    assert_agrees(&got, &want, Within::Bits, &format!("{what} inference"))
}

fn assert_gradients_agree(x: &Twin, of_weight: DType, offset: usize, what: &str) -> Result {
    let g = noisy(4, x.there.shape(), x.there.dtype(), offset % 3)?;
    let w = noisy(2, &x.there.shape()[1..2], of_weight, offset % 2)?;
    let got = cuda().batch_norm_backward(&g.here, &x.here, &w.here, CONFIG.eps)?;
    let want = Cpu.batch_norm_backward(&g.there, &x.there, &w.there, CONFIG.eps)?;
    assert_agrees(&got.input, &want.input, NEAR, &format!("{what} input"))?;
    assert_agrees(&got.weight, &want.weight, NEAR, &format!("{what} weight"))?;
    assert_agrees(&got.bias, &want.bias, NEAR, &format!("{what} bias"))
}

fn every_shape_is_normalised_by_channel_as_on_the_cpu() -> Result {
    for (dtype, of_weight) in pairs() {
        for (offset, shape) in SHAPES.into_iter().enumerate() {
            let x = noisy(1, shape, dtype, offset % 2)?;
            assert_agrees_forward(
                &x,
                of_weight,
                offset,
                &format!("{shape:?} {dtype} {of_weight}"),
            )?;
        }
    }
    Ok(())
}

fn the_running_statistics_passed_in_keep_their_values() -> Result {
    let (x, w) = (noisy(1, &[4, 3], DType::F16, 0)?, noisy(2, &[3], DType::F32, 0)?);
    let stats = running(3, 0)?;
    cuda().batch_norm(&x.here, &w.here, &w.here, &stats.here, CONFIG)?;
    assert_eq!(cuda().download(&stats.here.mean)?, Cpu.download(&stats.there.mean)?);
    assert_eq!(cuda().download(&stats.here.var)?, Cpu.download(&stats.there.var)?);
    Ok(())
}

fn batch_norms_gradients_are_the_cpus() -> Result {
    for (dtype, of_weight) in pairs() {
        // Two samples of a channel are normalised to 1 and -1, and their gradients are what rounding leaves.
        for (offset, shape) in SHAPES.into_iter().enumerate().skip(1) {
            let x = noisy(1, shape, dtype, offset % 2)?;
            assert_gradients_agree(
                &x,
                of_weight,
                offset,
                &format!("{shape:?} {dtype} {of_weight}"),
            )?;
        }
    }
    Ok(())
}

fn channels_of_many_samples_are_summed_up_in_chunks() -> Result {
    let shapes: [&[usize]; 5] = [&[5000, 2], &[4097, 1], &[2, 2, 4100], &[2, 2, 4104], &[278, 33]];
    for dtype in TYPES {
        for shape in shapes {
            let x = noisy(1, shape, dtype, 1)?;
            assert_agrees_forward(&x, dtype, 0, &format!("{shape:?} {dtype}"))?;
            assert_gradients_agree(&x, dtype, 0, &format!("{shape:?} {dtype}"))?;
        }
    }
    Ok(())
}

fn a_batch_without_channels_is_nothing() -> Result {
    let x = noisy(1, &[2, 0, 3], DType::F16, 0)?;
    assert_agrees_forward(&x, DType::F32, 0, "no channels")?;
    assert_gradients_agree(&x, DType::F32, 0, "no channels")
}

fn a_channel_that_is_not_finite_is_nan_and_alone() -> Result {
    for dtype in TYPES {
        for bad in [f32::INFINITY, f32::NAN] {
            let mut values = noise(1, 36);
            values[7] = bad;
            let x = twin(&values, &[3, 3, 4], dtype, 0)?;
            assert_agrees_forward(&x, dtype, 0, &format!("{bad} {dtype}"))?;
            assert_gradients_agree(&x, dtype, 0, &format!("{bad} {dtype}"))?;
        }
    }
    Ok(())
}

fn batch_norm_refuses_what_the_cpu_refuses() -> Result {
    let (cuda, stats) = (cuda(), running(4, 0)?);
    let [x, one] = [noisy(1, &[2, 4], DType::F16, 0)?, noisy(1, &[1, 4], DType::F16, 0)?];
    let [w, wrong, short] = [
        noisy(1, &[4], DType::F32, 0)?,
        noisy(1, &[4], DType::BF16, 0)?,
        noisy(1, &[3], DType::F32, 0)?,
    ];
    for (x, w) in [(&x, &wrong), (&x, &short), (&one, &w)] {
        let got = cuda.batch_norm(&x.here, &w.here, &w.here, &stats.here, CONFIG);
        assert_refused(got, Cpu.batch_norm(&x.there, &w.there, &w.there, &stats.there, CONFIG));
        let got = cuda.batch_norm_backward(&x.here, &x.here, &w.here, CONFIG.eps);
        assert_refused(got, Cpu.batch_norm_backward(&x.there, &x.there, &w.there, CONFIG.eps));
    }
    let narrow = noisy(1, &[4], DType::F16, 0)?;
    let here = RunningStats { mean: narrow.here.clone(), var: stats.here.var.clone() };
    let there = RunningStats { mean: narrow.there.clone(), var: stats.there.var.clone() };
    let got = cuda.batch_norm_inference(&x.here, &w.here, &w.here, &here, CONFIG.eps);
    assert_refused(got, Cpu.batch_norm_inference(&x.there, &w.there, &w.there, &there, CONFIG.eps));
    let got = cuda.batch_norm_backward(&one.here, &x.here, &w.here, CONFIG.eps);
    assert_refused(got, Cpu.batch_norm_backward(&one.there, &x.there, &w.there, CONFIG.eps));
    assert_foreign(own().batch_norm(&x.here, &w.here, &w.here, &stats.here, CONFIG));
    assert_foreign(own().batch_norm_backward(&x.here, &x.here, &w.here, CONFIG.eps));
    Ok(())
}
