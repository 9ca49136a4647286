//! Division by the root mean square over the last axis: the mean is not subtracted, squares are beyond the format, and parameters have either type.
//!
//! The oracle is that of [`layer_norm`](super::layer_norm) with 0 instead of the mean. A mean of n squares is wrong by n + 4 roundings.

use super::layer_norm::{Stats, Sums};
use super::prelude::*;
use crate::OpInvocation::{RmsNorm, RmsNormBackward};

const EPS: f32 = 1e-5;

const SHAPES: &str = "2 3x1 3x7 9x9 2x3x31 3x32 5x33 3x257 87x5 3x10 2x1031 2x8203 0x4 3x0";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for shape in shapes(SHAPES) {
            cases.add(dtype, format!("random_{}", name(&shape)), move |run| {
                both(run, &uniform(1, dtype, &shape, [-2.0, 3.0]), dtype, EPS)
            });
        }
        cases.add(dtype, "parameters_may_be_of_f32", move |run| {
            both(run, &uniform(1, dtype, &[5, 33], [-2.0, 3.0]), DType::F32, EPS)
        });
        cases.starts(dtype, move |run, seed, _| {
            both(run, &uniform(seed, dtype, &[63, 33], [-2.0, 3.0]), dtype, EPS)
        });
        let sentence = "a_wide_row_may_hang_on_its_last_elements";
        cases.add(dtype, sentence, move |run| {
            wide_rows(0.0).zip((0..2).cycle()).try_for_each(|(row, offset)| {
                let x = Stored::from_values(dtype, &[1, row.len()], row);
                both(&mut run.at(offset), &x, dtype, EPS)
            })
        });
        cases.add(dtype, "the_mean_is_not_subtracted", move |run| {
            both(run, &Stored::from_values(dtype, &[2, 32], [3.0; 64]), dtype, EPS)
        });
        cases.add(dtype, "squares_beyond_the_format_have_a_mean", move |run| {
            let row = (0..32).map(|i| if i % 2 == 0 { 30000.0 } else { -30000.0 });
            both(run, &Stored::from_values(dtype, &[1, 32], row), dtype, EPS)
        });
        cases.add(dtype, "eps_is_added_to_the_mean_square", move |run| {
            let x = Stored::from_values(dtype, &[2, 4], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.001]);
            [1e-5, 1e-3, 1.0].into_iter().try_for_each(|eps| both(run, &x, dtype, eps))
        });
        cases.add(dtype, "a_nan_stays_in_its_row", move |run| {
            let x = Stored::from_values(dtype, &[2, 3], [1.0, f64::NAN, 3.0, 4.0, 5.0, 7.0]);
            both(run, &x, dtype, EPS)
        });
        cases.add(dtype, "the_gradient_of_the_weight_is_summed_wide", move |run| {
            // x̂ is 1 within eps: the sum over 2050 rows has that many terms of one sign.
            both_of(run, [&ones(dtype, &[2050, 2]); 2], &ones(dtype, &[2]), EPS)
        });
    }
    mismatches(
        cases,
        [
            (RmsNorm { eps: EPS }, "f16:4x3 f16:4, f16:4x3 bf16:3, 4x3 f16:3"),
            (RmsNormBackward { eps: EPS }, "4x3 f16:4x3 f16:3"),
        ],
    );
}

/// Forward and both gradients, with a weight and a gradient at random.
fn both(run: &mut OpRun<'_>, x: &Stored, parameters: DType, eps: f32) -> Verdict {
    let width = x.shape.last().copied().unwrap_or_default();
    let w = uniform(3, parameters, &[width], [-1.5, 1.5]);
    both_of(run, [&uniform(5, x.dtype, &x.shape, [-1.0, 1.0]), x], &w, eps)
}

fn both_of(run: &mut OpRun<'_>, [g, x]: [&Stored; 2], w: &Stored, eps: f32) -> Verdict {
    let wanted = rms_norm(&values(x), &values(w), f64::from(eps));
    run.near(RmsNorm { eps }, &[x, w], [(x.dtype, wanted)])?;
    let [input, weight] = backward(&values(g), &values(x), &values(w), f64::from(eps));
    run.near(RmsNormBackward { eps }, &[g, x, w], [(x.dtype, input), (w.dtype, weight)])
}

// The oracle.

/// The statistics of a row: 0, and the mean of its squares.
fn stats(x: &[f64], eps: f64) -> Stats {
    let square = x.iter().map(|x| x * x).sum::<f64>() / count(x.len());
    Stats::new([0.0, square], [0.0, (count(x.len()) + 4.0) * square], eps)
}

/// Each row of the weight's width, normalised, and times the weight: one product more.
fn rms_norm(x: &[f64], w: &[f64], eps: f64) -> Vec<Expected> {
    let row = |x: &[f64]| {
        let stats = stats(x, eps);
        let one = |(x, w): (&f64, &f64)| {
            let Expected { value, mass, .. } = stats.normal(*x);
            Expected::near(value * w, mass * w.abs() + 2.0 * (value * w).abs())
        };
        x.iter().zip(w).map(one).collect::<Vec<_>>()
    };
    x.chunks(w.len().max(1)).flat_map(row).collect()
}

/// Gradients of input and weight.
fn backward(grad: &[f64], x: &[f64], w: &[f64], eps: f64) -> [Vec<Expected>; 2] {
    let width = w.len();
    let mut input = Vec::new();
    let mut columns = vec![Sums::default(); width];
    for (g, x) in grad.chunks(width.max(1)).zip(x.chunks(width.max(1))) {
        let stats = stats(x, eps);
        let a: Vec<f64> = g.iter().zip(w).map(|(g, w)| g * w).collect();
        input.extend(stats.backward_about([0.0; 2], &a, x));
        for ((sums, g), x) in columns.iter_mut().zip(g).zip(x) {
            sums.add(*g, stats.normal(*x));
        }
    }
    let [weight, _] = Sums::wanted(&columns);
    [input, weight]
}
