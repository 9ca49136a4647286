//! Normalisation over the batch: biased variance in the result, unbiased variance in the running statistics.
//!
//! The oracle treats each channel as one group of [`layer_norm`](super::layer_norm).

use super::bias_add::channels;
use super::layer_norm::{Stats, Sums};
use super::prelude::*;
use crate::OpInvocation::{
    BatchNorm, BatchNormBackward, BatchNormGradSums, BatchNormInference, BatchNormInputGrad,
    BatchNormStats,
};
use binade_core::ops::BatchNormConfig;

const SHAPES: &str = "2x1 7x3 8x8 33x9 257x2 2x31 2x3x5 3x4x5x7 1x2x16x17 9x33x1x2 131x33 1400x2x3 70x2x8x9 \
    2x0x3 5x40 6x48 22x33 2x2x1033";

pub(super) fn add_cases(cases: &mut OpCases) {
    add_steps(cases);
    for dtype in FLOATS {
        for shape in shapes(SHAPES) {
            cases.add(dtype, format!("random_{}", name(&shape)), move |run| {
                all(run, &uniform(1, dtype, &shape, [-2.0, 3.0]), dtype)
            });
        }
        cases.add(dtype, "parameters_may_be_of_f32", move |run| {
            all(run, &uniform(1, dtype, &[5, 3, 2, 3], [-2.0, 3.0]), DType::F32)
        });
        cases.starts(dtype, move |run, seed, _| {
            // Runs of elements that are whole groups, runs that are not, and channels side by side.
            let inputs = [&[5, 3, 3, 3][..], &[5, 3, 2, 4], &[5, 8]];
            inputs.into_iter().try_for_each(|shape: &[usize]| {
                all(run, &uniform(seed, dtype, shape, [-2.0, 3.0]), dtype)
            })
        });
        cases.add(dtype, "a_large_mean_leaves_the_variance_alone", move |run| {
            let mean = if dtype == DType::F32 { 16384.0 } else { 128.0 };
            let x = (0..5150).map(|i| mean + f64::from(i * 7 % 9) - 2.0);
            all(run, &Stored::from_values(dtype, &[1030, 5], x), dtype)
        });
        let sentence = "a_batch_of_two_is_normalised_by_the_biased_variance";
        cases.add(dtype, sentence, move |run| {
            let x = Stored::from_values(dtype, &[2, 2], [-1.0, 4.0, 3.0, 8.0]);
            all(run, &x, dtype)
        });
        let sentence = "the_running_statistics_passed_in_keep_their_values";
        cases.add(dtype, sentence, move |run| {
            let x = uniform(1, dtype, &[5, 3], [-2.0, 3.0]);
            let Layer { w, b, mean, var, .. } = Layer::of(&x, dtype);
            let op = BatchNorm { config: BatchNormConfig::default() };
            run.keeps(&op, &[&x, &w, &b, &mean, &var])
        });
        cases.add(dtype, "a_nan_stays_in_its_channel", move |run| {
            let x = Stored::from_values(dtype, &[3, 2], [1.0, f64::NAN, 3.0, 4.0, 5.0, 7.0]);
            forward(run, &Layer::of(&x, dtype), 0.1)?;
            let wide = (0..54).map(|i| if i == 20 { f64::NAN } else { f64::from(i % 5) });
            all(run, &Stored::from_values(dtype, &[3, 2, 9], wide), dtype)?;
            let codes = not_finite(dtype);
            let x = uniform(1, dtype, &[2, codes.len()], [-2.0, 3.0]);
            let b = Stored::code_vector(dtype, codes);
            forward(run, &Layer { b, ..Layer::of(&x, dtype) }, 0.1)
        });
    }
    let config = BatchNormConfig::default();
    let sentence = "fewer_than_two_values_a_channel_are_an_invalid_argument";
    let one = [(BatchNorm { config }, "1x3 3 3 3 3")];
    refusals(cases, sentence, ErrorKind::InvalidArgument, one);
    mismatches(
        cases,
        [
            (BatchNorm { config }, "4x3 4 4 4 4, 4x3 3 3 f16:3 3"),
            (BatchNormInference { eps: 1e-5 }, "4x3 3 3 f16:3 3"),
            (BatchNormBackward { eps: 1e-5 }, "3x4 4x3 3"),
        ],
    );
}

/// Adds cases of the single steps of both passes, which a device may lack.
fn add_steps(cases: &mut OpCases) {
    for dtype in FLOATS {
        for shape in shapes(SHAPES) {
            cases.add(dtype, format!("steps_{}", name(&shape)), move |run| {
                steps(run, &uniform(1, dtype, &shape, [-2.0, 3.0]), dtype)
            });
        }
        cases.add(dtype, "steps_with_parameters_of_f32", move |run| {
            steps(run, &uniform(1, dtype, &[5, 3, 2, 3], [-2.0, 3.0]), DType::F32)
        });
        let sentence = "steps_of_a_large_mean_leave_the_variance_alone";
        cases.add(dtype, sentence, move |run| {
            let x = (0..5150).map(|i| 128.0 + f64::from(i * 7 % 9) - 2.0);
            stats_of(run, &Stored::from_values(dtype, &[1030, 5], x))
        });
        cases.add(dtype, "steps_of_one_value_or_none", move |run| {
            let each = [&[1, 3][..], &[0, 3], &[0, 3, 2]];
            each.into_iter().try_for_each(|shape| {
                let x = uniform(1, dtype, shape, [-2.0, 3.0]);
                given(run, &Layer::of(&x, dtype))
            })
        });
        cases.add(dtype, "steps_keep_a_nan_in_its_channel", move |run| {
            let x = Stored::from_values(dtype, &[3, 2], [1.0, f64::NAN, 3.0, 4.0, 5.0, 7.0]);
            steps(run, &x, dtype)
        });
        cases.add(dtype, "steps_start_anywhere", move |run| {
            let x = uniform(1, dtype, &[5, 3, 3, 3], [-2.0, 3.0]);
            let one = uniform(1, dtype, &[5, 1], [-2.0, 3.0]);
            (0..9).try_for_each(|offset| {
                steps(&mut run.at(offset), &x, dtype)?;
                steps(&mut run.at(offset), &one, dtype)
            })
        });
    }
    let sentence = "statistics_of_fewer_than_two_values_a_channel_are_an_invalid_argument";
    refusals(cases, sentence, ErrorKind::InvalidArgument, [(BatchNormStats, "1x3, 0x3")]);
    let eps = 1e-5;
    let all = [
        (BatchNormStats, "3"),
        (BatchNormGradSums { eps }, "3x4 4x3 3 3, f16:4x3 4x3 3 3, 4x3 4x3 4 4, 4x3 4x3 3 f16:3"),
        (
            BatchNormInputGrad { eps },
            "3x4 4x3 3 3 3 2x3, 4x3 4x3 4 3 3 2x3, 4x3 4x3 3 3 3 3x2, 4x3 4x3 3 3 3 f16:2x3",
        ),
    ];
    refusals(cases, "steps_that_do_not_fit_are_a_mismatch", ErrorKind::Mismatch, all);
}

/// Input, parameters, and running statistics that are no longer initial.
struct Layer<'a> {
    x: &'a Stored,
    w: Stored,
    b: Stored,
    mean: Stored,
    var: Stored,
    channels: Vec<usize>,
}

impl<'a> Layer<'a> {
    fn of(x: &'a Stored, parameters: DType) -> Self {
        let vector = |seed, dtype, range| uniform(seed, dtype, &[x.shape[1]], range);
        Self {
            x,
            w: vector(3, parameters, [-1.5, 1.5]),
            b: vector(4, parameters, [-1.5, 1.5]),
            mean: vector(5, DType::F32, [-1.0, 1.0]),
            var: vector(6, DType::F32, [0.5, 2.0]),
            channels: channels(&x.shape, 1),
        }
    }
}

/// Compares training at two momenta, inference, and all three gradients.
fn all(run: &mut OpRun<'_>, x: &Stored, parameters: DType) -> Verdict {
    let layer = Layer::of(x, parameters);
    forward(run, &layer, 0.1)?;
    forward(run, &layer, 0.75)?;
    let Layer { w, b, mean, var, channels, .. } = &layer;
    let eps = 1e-5_f32;
    let [wv, bv, meanv, varv] = [w, b, mean, var].map(values);
    let wanted = inference(&values(x), channels, [&wv, &bv], [&meanv, &varv], f64::from(eps));
    run.near(BatchNormInference { eps }, &[x, w, b, mean, var], [(x.dtype, wanted)])?;
    let g = uniform(7, x.dtype, &x.shape, [-1.0, 1.0]);
    let [input, weight, bias] = backward(&values(&g), &values(x), channels, &wv, f64::from(eps));
    let wanted = [(x.dtype, input), (parameters, weight), (parameters, bias)];
    run.near(BatchNormBackward { eps }, &[&g, x, w], wanted)
}

/// Compares the steps on a batch: its statistics, and the gradients by other statistics.
fn steps(run: &mut OpRun<'_>, x: &Stored, parameters: DType) -> Verdict {
    stats_of(run, x)?;
    given(run, &Layer::of(x, parameters))
}

fn stats_of(run: &mut OpRun<'_>, x: &Stored) -> Verdict {
    let (width, channels) = (x.shape[1], channels(&x.shape, 1));
    let n = count(x.len()) / count(width);
    let unbiased = n / (n - 1.0);
    let all = stats(&values(x), &channels, width, 0.0);
    let mean = all.iter().map(|s| Expected::near(s.mean, s.mean_doubt + s.mean.abs()));
    // The factor is rounded, and the product with it.
    let var = all.iter().map(|s| s.var * unbiased).zip(&all);
    let var = var.map(|(var, s)| Expected::near(var, s.var_doubt * unbiased + 4.0 * var));
    let wanted = [mean.collect(), var.collect()].map(|wanted: Vec<Expected>| (DType::F32, wanted));
    run.near(BatchNormStats, &[x], wanted)
}

/// Compares the gradients by given statistics and means.
fn given(run: &mut OpRun<'_>, Layer { x, w, mean, var, channels, .. }: &Layer<'_>) -> Verdict {
    let eps = 1e-5_f32;
    let g = uniform(7, x.dtype, &x.shape, [-1.0, 1.0]);
    let means = uniform(8, DType::F32, &[2, w.len()], [-0.5, 0.5]);
    let [gv, xv, wv, mv] = [&g, x, w, &means].map(values);
    let both = values(mean).into_iter().zip(values(var));
    let all: Vec<Stats> =
        both.map(|(mean, var)| Stats::new([mean, var], [0.0; 2], f64::from(eps))).collect();
    let wanted = grad_sums(&gv, &xv, channels, &all);
    run.near(BatchNormGradSums { eps }, &[&g, x, mean, var], [(DType::F32, wanted)])?;
    let wanted = input_grad([&gv, &xv, &wv], channels, &all, mv.split_at(wv.len()));
    let operands = [&g, x, w, mean, var, &means];
    run.near(BatchNormInputGrad { eps }, &operands, [(x.dtype, wanted)])
}

fn forward(
    run: &mut OpRun<'_>,
    Layer { x, w, b, mean, var, channels }: &Layer<'_>,
    momentum: f32,
) -> Verdict {
    let config = BatchNormConfig { momentum, eps: 1e-5 };
    let [wv, bv, meanv, varv] = [w, b, mean, var].map(values);
    let numbers = [f64::from(config.momentum), f64::from(config.eps)];
    let wanted = batch_norm(&values(x), channels, [&wv, &bv], [&meanv, &varv], numbers);
    let types = [x.dtype, DType::F32, DType::F32];
    run.near(BatchNorm { config }, &[x, w, b, mean, var], types.into_iter().zip(wanted))
}

// The oracle.

/// Returns the elements of one channel.
fn of(values: &[f64], channels: &[usize], channel: usize) -> Vec<f64> {
    values.iter().zip(channels).filter(|(_, c)| **c == channel).map(|(x, _)| *x).collect()
}

fn stats(x: &[f64], channels: &[usize], count: usize, eps: f64) -> Vec<Stats> {
    (0..count).map(|channel| Stats::of(&of(x, channels, channel), eps)).collect()
}

/// Returns the result by the batch's own statistics, and the updated running mean and unbiased variance.
fn batch_norm(
    x: &[f64],
    channels: &[usize],
    [w, b]: [&[f64]; 2],
    [mean, var]: [&[f64]; 2],
    [momentum, eps]: [f64; 2],
) -> [Vec<Expected>; 3] {
    let all = stats(x, channels, w.len(), eps);
    let pairs = x.iter().zip(channels);
    let output = pairs.map(|(x, &c)| all[c].affine(*x, w[c], b[c])).collect();
    let n = count(x.len()) / count(w.len());
    // The old value times 1 − momentum, which may be rounded; the new value, its factor of 2 roundings; and a sum.
    let moved = |old: f64, new: f64, doubt: f64| {
        let (kept, added) = ((1.0 - momentum) * old, momentum * new);
        Expected::near(kept + added, momentum * doubt + 4.0 * (kept.abs() + added.abs()))
    };
    let unbiased = n / (n - 1.0);
    let means = all.iter().zip(mean).map(|(s, old)| moved(*old, s.mean, s.mean_doubt));
    let vars =
        all.iter().zip(var).map(|(s, old)| moved(*old, s.var * unbiased, s.var_doubt * unbiased));
    [output, means.collect(), vars.collect()]
}

/// Returns the result by the running statistics, which stay unchanged.
fn inference(
    x: &[f64],
    channels: &[usize],
    [w, b]: [&[f64]; 2],
    [mean, var]: [&[f64]; 2],
    eps: f64,
) -> Vec<Expected> {
    let both = mean.iter().zip(var);
    let all: Vec<Stats> =
        both.map(|(mean, var)| Stats::new([*mean, *var], [0.0; 2], eps)).collect();
    x.iter().zip(channels).map(|(x, &c)| all[c].affine(*x, w[c], b[c])).collect()
}

/// Gradients of input, weight and bias.
fn backward(
    grad: &[f64],
    x: &[f64],
    channels: &[usize],
    w: &[f64],
    eps: f64,
) -> [Vec<Expected>; 3] {
    let all = stats(x, channels, w.len(), eps);
    let mut input = vec![Expected::exactly(0.0); x.len()];
    let mut sums = vec![Sums::default(); w.len()];
    for (c, stats) in all.iter().enumerate() {
        let places = (0..x.len()).filter(|at| channels[*at] == c);
        let group = stats.backward(&of(grad, channels, c), &of(x, channels, c));
        for (at, Expected { value, mass, .. }) in places.zip(group) {
            // The product with the weight is one more rounding.
            let value = value * w[c];
            input[at] = Expected::near(value, mass * w[c].abs() + 2.0 * value.abs());
            sums[c].add(grad[at], stats.normal(x[at]));
        }
    }
    let [weight, bias] = Sums::wanted(&sums);
    [input, weight, bias]
}

/// `Σ g·x̂` of each channel, and behind them `Σ g`.
fn grad_sums(grad: &[f64], x: &[f64], channels: &[usize], stats: &[Stats]) -> Vec<Expected> {
    let mut sums = vec![Sums::default(); stats.len()];
    for ((g, x), &c) in grad.iter().zip(x).zip(channels) {
        sums[c].add(*g, stats[c].normal(*x));
    }
    Sums::wanted(&sums).concat()
}

/// `w·rstd·(g − offset − x̂·slope)`.
fn input_grad(
    [grad, x, w]: [&[f64]; 3],
    channels: &[usize],
    stats: &[Stats],
    (slopes, offsets): (&[f64], &[f64]),
) -> Vec<Expected> {
    let one = |((g, x), &c): ((&f64, &f64), &usize)| {
        let (stats, slope, offset) = (&stats[c], slopes[c], offsets[c]);
        let normal = stats.normal(*x);
        let factor = w[c] * stats.rstd;
        let value = factor * (g - offset - normal.value * slope);
        // Two differences, and a product whose factor has a doubt.
        let largest = g.abs() + offset.abs() + (normal.value * slope).abs();
        let inner = 3.0 * largest + normal.mass * slope.abs();
        Expected::near(value, factor.abs() * inner + value.abs() * (stats.rstd_doubt + 2.0))
    };
    grad.iter().zip(x).zip(channels).map(one).collect()
}
