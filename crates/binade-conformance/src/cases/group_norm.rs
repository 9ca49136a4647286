//! Normalisation over groups of channels: one group for all, one for each channel, and weights by channel.
//!
//! The oracle treats each group of each sample as one group of [`layer_norm`](super::layer_norm).

use super::layer_norm::{Stats, Sums};
use super::prelude::*;
use crate::OpInvocation::{GroupNorm, GroupNormBackward};

const EPS: f32 = 1e-5;

/// Shapes, each with its groups.
const SIZES: &str = "2x1:1 3x6:2 8x8:8 2x4x31:2 2x6x5:3 3x4x5x7:1 1x8x16x17:4 2x33x1x2:11 5x64:4 3x4x8:2 2x32x3x3:8 \
    2x2x2x1033:2 70x2x8x9:1 1x2x4099:1 0x4x3:2 2x0x3:1 2x4x0:2 40x6x1x8:3";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [shape, groups] in sized(SIZES) {
            let groups = groups[0];
            cases.add(dtype, format!("random_{}_by_{groups}", name(&shape)), move |run| {
                both(run, &uniform(1, dtype, &shape, [-2.0, 3.0]), dtype, groups)
            });
        }
        cases.add(dtype, "parameters_may_be_of_f32", move |run| {
            both(run, &uniform(1, dtype, &[5, 4, 2, 3], [-2.0, 3.0]), DType::F32, 2)
        });
        cases.starts(dtype, move |run, seed, _| {
            // Runs that are whole groups of elements, runs that are not, and channels side by side.
            let inputs = [&[3, 4, 3, 3][..], &[3, 4, 2, 4], &[5, 8]];
            inputs.into_iter().try_for_each(|shape: &[usize]| {
                both(run, &uniform(seed, dtype, shape, [-2.0, 3.0]), dtype, 2)
            })
        });
        cases.add(dtype, "a_large_mean_leaves_the_variance_alone", move |run| {
            let mean = if dtype == DType::F32 { 16384.0 } else { 128.0 };
            let x = (0..128).map(|i| mean + f64::from(i * 7 % 5) - 2.0);
            both(run, &Stored::from_values(dtype, &[2, 4, 16], x), dtype, 2)
        });
        cases.add(dtype, "a_group_of_equal_values_is_its_bias", move |run| {
            let x = Stored::from_values(dtype, &[1, 2, 2], [3.0, 3.0, -1.0, -1.0]);
            let [w, b] = [[2.0, 4.0], [0.5, -0.5]].map(|it| Stored::vector(dtype, it));
            let op = GroupNorm { groups: 2, eps: EPS };
            run.exact(op, &[&x, &w, &b], [(dtype, vec![0.5, 0.5, -0.5, -0.5])])
        });
        cases.add(dtype, "a_weight_of_zero_leaves_its_group_a_gradient", move |run| {
            let x = uniform(1, dtype, &[2, 4, 3], [-2.0, 3.0]);
            let w = Stored::vector(dtype, [0.0, 1.0, 0.0, 0.0]);
            backward_of(run, &x, &w, 2)
        });
        cases.add(dtype, "a_nan_stays_in_its_group", move |run| {
            let x = (0..54).map(|i| if i == 20 { f64::NAN } else { f64::from(i % 5) });
            both(run, &Stored::from_values(dtype, &[3, 2, 9], x), dtype, 2)
        });
    }
    let norm = |groups| GroupNorm { groups, eps: EPS };
    let sentence = "no_groups_are_an_invalid_argument";
    refusals(cases, sentence, ErrorKind::InvalidArgument, [(norm(0), "2x4 4 4")]);
    mismatches(
        cases,
        [
            (norm(3), "2x4 4 4"),
            (norm(2), "4 4 4, 2x4 2 2, 2x4 4 3, 2x4 4 f16:4, f16:2x4 bf16:4 bf16:4"),
            (GroupNormBackward { groups: 2, eps: EPS }, "2x4x3 2x4 4, f16:2x4 2x4 4"),
        ],
    );
}

/// Forward, and all three gradients.
fn both(run: &mut OpRun<'_>, x: &Stored, parameters: DType, groups: usize) -> Verdict {
    let [w, b] = [3, 4].map(|seed| uniform(seed, parameters, &[x.shape[1]], [-1.5, 1.5]));
    let wanted = group_norm(x, &values(&w), &values(&b), groups);
    run.near(GroupNorm { groups, eps: EPS }, &[x, &w, &b], [(x.dtype, wanted)])?;
    backward_of(run, x, &w, groups)
}

fn backward_of(run: &mut OpRun<'_>, x: &Stored, w: &Stored, groups: usize) -> Verdict {
    let g = uniform(5, x.dtype, &x.shape, [-1.0, 1.0]);
    let [input, weight, bias] = backward(&values(&g), x, &values(w), groups);
    let wanted = [(x.dtype, input), (w.dtype, weight), (w.dtype, bias)];
    run.near(GroupNormBackward { groups, eps: EPS }, &[&g, x, w], wanted)
}

// The oracle.

/// The elements of each group of each sample, with their channels.
fn rows(x: &Stored, groups: usize) -> Vec<(std::ops::Range<usize>, Vec<usize>)> {
    let (channels, inner) = (x.shape[1], x.shape[2..].iter().product::<usize>());
    let width = channels / groups * inner;
    let row = |row: usize| {
        let range = row * width..(row + 1) * width;
        (range.clone(), range.map(|at| at / inner % channels).collect())
    };
    (0..x.shape[0] * groups).map(row).collect()
}

fn group_norm(x: &Stored, w: &[f64], b: &[f64], groups: usize) -> Vec<Expected> {
    let all = values(x);
    let row = |(range, channels): (std::ops::Range<usize>, Vec<usize>)| {
        let stats = Stats::of(&all[range.clone()], f64::from(EPS));
        let one = |(x, c): (&f64, usize)| stats.affine(*x, w[c], b[c]);
        all[range].iter().zip(channels).map(one).collect::<Vec<_>>()
    };
    rows(x, groups).into_iter().flat_map(row).collect()
}

/// Gradients of input, weight and bias.
fn backward(grad: &[f64], x: &Stored, w: &[f64], groups: usize) -> [Vec<Expected>; 3] {
    let all = values(x);
    let mut input = Vec::new();
    let mut sums = vec![Sums::default(); w.len()];
    for (range, channels) in rows(x, groups) {
        let (g, x) = (&grad[range.clone()], &all[range]);
        let stats = Stats::of(x, f64::from(EPS));
        // The product with the weight is rounded once: the fourth unit of `largest`.
        let scaled: Vec<f64> = g.iter().zip(&channels).map(|(g, c)| g * w[*c]).collect();
        input.extend(stats.backward(&scaled, x));
        for ((g, x), c) in g.iter().zip(x).zip(channels) {
            sums[c].add(*g, stats.normal(*x));
        }
    }
    let [weight, bias] = Sums::wanted(&sums);
    [input, weight, bias]
}
