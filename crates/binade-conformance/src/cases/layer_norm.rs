//! Normalisation over the last axis: statistics that hold beside a large mean, and parameters of either type.
//!
//! The oracle normalises any one group of values. Its error bound, the doubt, is that of two passes in `f32`. A mean of n values is wrong by n·2^-24
//! of the mean magnitude. The variance around it is wrong by its own n + 4 roundings and by the square of the mean's error. `1/√` halves the error of
//! its argument and adds two operations of 2 ulps.

use super::prelude::*;
use crate::OpInvocation::{LayerNorm, LayerNormBackward};

const EPS: f32 = 1e-5;

const SHAPES: &str = "2 3x1 3x7 2x8 9x9 2x3x31 3x32 5x33 2x255 3x257 87x5 4099x3 3x4 2x6 3x10 2x1031 2x8203 0x4 \
    3x0";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for shape in shapes(SHAPES) {
            cases.add(dtype, format!("random_{}", name(&shape)), move |run| {
                let x = uniform(1, dtype, &shape, [-2.0, 3.0]);
                both(run, &x, dtype, EPS)
            });
        }
        cases.add(dtype, "parameters_may_be_of_f32", move |run| {
            both(run, &uniform(1, dtype, &[5, 33], [-2.0, 3.0]), DType::F32, EPS)
        });
        cases.starts(dtype, move |run, seed, _| {
            let x = uniform(seed, dtype, &[63, 33], [-2.0, 3.0]);
            both(run, &x, dtype, EPS)
        });
        let sentence = "a_wide_row_may_hang_on_its_last_elements";
        cases.add(dtype, sentence, move |run| {
            wide_rows(0.0).zip((0..2).cycle()).try_for_each(|(row, offset)| {
                let x = Stored::from_values(dtype, &[1, row.len()], row);
                both(&mut run.at(offset), &x, dtype, EPS)
            })
        });
        cases.add(dtype, "a_large_mean_leaves_the_variance_alone", move |run| {
            let mean = if dtype == DType::F32 { 16384.0 } else { 128.0 };
            let row = (0..64).map(|i| mean + f64::from(i * 7 % 5) - 2.0);
            both(run, &Stored::from_values(dtype, &[1, 64], row), dtype, EPS)
        });
        cases.add(dtype, "squares_beyond_the_format_have_a_variance", move |run| {
            let row = (0..32).map(|i| if i % 2 == 0 { 30000.0 } else { -30000.0 });
            both(run, &Stored::from_values(dtype, &[1, 32], row), dtype, EPS)
        });
        cases.add(dtype, "eps_is_added_to_the_variance", move |run| {
            let x = Stored::from_values(dtype, &[2, 4], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.001]);
            [1e-5, 1e-3, 1.0].into_iter().try_for_each(|eps| both(run, &x, dtype, eps))
        });
        cases.add(dtype, "a_nan_stays_in_its_row", move |run| {
            let x = Stored::from_values(dtype, &[2, 3], [1.0, f64::NAN, 3.0, 4.0, 5.0, 7.0]);
            both(run, &x, dtype, EPS)?;
            let wide = (0..34).map(|i| if i == 20 { f64::NAN } else { f64::from(i % 5) });
            both(run, &Stored::from_values(dtype, &[2, 17], wide), dtype, EPS)
        });
        cases.add(dtype, "gradients_of_parameters_are_summed_wide", move |run| {
            // x̂ is ±1 within eps: the sum over 2050 rows has that many terms of one sign.
            let x = Stored::from_values(dtype, &[2050, 2], (0..4100).map(|i| f64::from(i % 2)));
            let (g, w) = (ones(dtype, &[2050, 2]), ones(dtype, &[2]));
            let wanted = backward(&values(&g), &values(&x), &[1.0; 2], f64::from(EPS));
            run.near(
                LayerNormBackward { eps: EPS },
                &[&g, &x, &w],
                wanted.map(|wanted| (dtype, wanted)),
            )
        });
    }
    mismatches(
        cases,
        [
            (LayerNorm { eps: EPS }, "f16:4x3 f16:4 f16:4, f16:4x3 bf16:3 bf16:3, f16:4x3 3 f16:3"),
            (LayerNormBackward { eps: EPS }, "4x3 f16:4x3 f16:3"),
        ],
    );
}

/// Forward, and all three gradients.
fn both(run: &mut OpRun<'_>, x: &Stored, parameters: DType, eps: f32) -> Verdict {
    let width = x.shape.last().copied().unwrap_or_default();
    let [w, b] = [3, 4].map(|seed| uniform(seed, parameters, &[width], [-1.5, 1.5]));
    let wanted = layer_norm(&values(x), &values(&w), &values(&b), f64::from(eps));
    run.near(LayerNorm { eps }, &[x, &w, &b], [(x.dtype, wanted)])?;
    let g = uniform(5, x.dtype, &x.shape, [-1.0, 1.0]);
    let [input, weight, bias] = backward(&values(&g), &values(x), &values(&w), f64::from(eps));
    let wanted = [(x.dtype, input), (parameters, weight), (parameters, bias)];
    run.near(LayerNormBackward { eps }, &[&g, x, &w], wanted)
}

// The oracle.

/// 2^-24, the unit of masses.
const UNIT: f64 = 1.0 / 16_777_216.0;

/// Statistics of one group, with doubts in units of 2^-24.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stats {
    /// The mean.
    pub(super) mean: f64,
    /// The biased variance.
    pub(super) var: f64,
    /// `1 / √(var + eps)`.
    pub(super) rstd: f64,
    /// Bound of the error of the mean.
    pub(super) mean_doubt: f64,
    /// Bound of the error of the variance.
    pub(super) var_doubt: f64,
    /// Bound of the relative error of `rstd`.
    pub(super) rstd_doubt: f64,
}

impl Stats {
    /// Returns the statistics of `x`.
    pub(super) fn of(x: &[f64], eps: f64) -> Self {
        let n = count(x.len());
        let mean = x.iter().sum::<f64>() / n;
        let var = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let mean_doubt = (n + 1.0) * x.iter().map(|x| x.abs()).sum::<f64>() / n;
        let var_doubt = (n + 4.0) * var + mean_doubt * mean_doubt * UNIT;
        Self::new([mean, var], [mean_doubt, var_doubt], eps)
    }

    /// Returns the statistics of a mean and a variance with these doubts.
    pub(super) fn new([mean, var]: [f64; 2], [mean_doubt, var_doubt]: [f64; 2], eps: f64) -> Self {
        let rstd_doubt = 0.5 * (var_doubt / (var + eps) + 1.0) + 8.0;
        Self { mean, var, rstd: (var + eps).sqrt().recip(), mean_doubt, var_doubt, rstd_doubt }
    }

    /// `(x − mean)·rstd`, and its doubt: the mean's, that of `rstd`, a difference and a product.
    pub(super) fn normal(&self, x: f64) -> Expected {
        let value = (x - self.mean) * self.rstd;
        let mass = self.mean_doubt * self.rstd + value.abs() * (self.rstd_doubt + 2.0);
        Expected { mass, ..Expected::exactly(value) }
    }

    /// `(x − mean)·rstd·w + b`: one product more, and one sum.
    pub(super) fn affine(&self, x: f64, w: f64, b: f64) -> Expected {
        let Expected { value, mass, .. } = self.normal(x);
        let (scaled, sum) = (value * w, value * w + b);
        Expected::near(sum, mass * w.abs() + 2.0 * scaled.abs() + sum.abs())
    }

    /// `rstd·(a − mean(a) − x̂·mean(a·x̂))` for gradients `a` of the normalised group `x`.
    pub(super) fn backward(&self, a: &[f64], x: &[f64]) -> Vec<Expected> {
        let n = count(x.len());
        let offset = a.iter().sum::<f64>() / n;
        let offset_doubt = (n + 2.0) * a.iter().map(|a| a.abs()).sum::<f64>() / n;
        self.backward_about([offset, offset_doubt], a, x)
    }

    /// Returns the gradient with a given number and its doubt instead of `mean(a)`.
    pub(super) fn backward_about(
        &self,
        [offset, offset_doubt]: [f64; 2],
        a: &[f64],
        x: &[f64],
    ) -> Vec<Expected> {
        let n = count(x.len());
        let mean = |terms: &mut dyn Iterator<Item = f64>| terms.sum::<f64>() / n;
        let normals: Vec<Expected> = x.iter().map(|x| self.normal(*x)).collect();
        let pairs = || a.iter().zip(&normals);
        let slope = mean(&mut pairs().map(|(a, x)| a * x.value));
        let slope_doubt =
            mean(&mut pairs().map(|(a, x)| (n + 3.0) * (a * x.value).abs() + a.abs() * x.mass));
        let one = |(a, x): (&f64, &Expected)| {
            let value = self.rstd * (a - offset - x.value * slope);
            let largest = a.abs() + offset.abs() + (x.value * slope).abs();
            let inner =
                4.0 * largest + offset_doubt + x.value.abs() * slope_doubt + x.mass * slope.abs();
            Expected::near(value, self.rstd * inner + value.abs() * (self.rstd_doubt + 2.0))
        };
        pairs().map(one).collect()
    }
}

/// Each row of the weight's width, normalised.
fn layer_norm(x: &[f64], w: &[f64], b: &[f64], eps: f64) -> Vec<Expected> {
    let row = |x: &[f64]| {
        let stats = Stats::of(x, eps);
        let pairs = x.iter().zip(w.iter().zip(b));
        pairs.map(|(x, (w, b))| stats.affine(*x, *w, *b)).collect::<Vec<_>>()
    };
    x.chunks(w.len().max(1)).flat_map(row).collect()
}

/// Gradients of input, weight and bias.
fn backward(grad: &[f64], x: &[f64], w: &[f64], eps: f64) -> [Vec<Expected>; 3] {
    let width = w.len();
    let rows = || grad.chunks(width.max(1)).zip(x.chunks(width.max(1)));
    let mut input = Vec::new();
    let mut columns = vec![Sums::default(); width];
    for (g, x) in rows() {
        let stats = Stats::of(x, eps);
        // The product with the weight is rounded once: the fourth unit of `largest`.
        let a: Vec<f64> = g.iter().zip(w).map(|(g, w)| g * w).collect();
        input.extend(stats.backward(&a, x));
        for ((sums, g), x) in columns.iter_mut().zip(g).zip(x) {
            sums.add(*g, stats.normal(*x));
        }
    }
    let [weight, bias] = Sums::wanted(&columns);
    [input, weight, bias]
}

/// `Σ g·x̂` and `Σ g`, with bounds of their errors.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    terms: f64,
    product: [f64; 3],
    grad: [f64; 2],
}

impl Sums {
    /// Adds one element.
    pub(super) fn add(&mut self, g: f64, x: Expected) {
        self.terms += 1.0;
        let product = [g * x.value, (g * x.value).abs(), g.abs() * x.mass];
        self.product.iter_mut().zip(product).for_each(|(sum, term)| *sum += term);
        self.grad.iter_mut().zip([g, g.abs()]).for_each(|(sum, term)| *sum += term);
    }

    /// The gradients of weights and biases.
    pub(super) fn wanted(all: &[Self]) -> [Vec<Expected>; 2] {
        let weight =
            |s: &Self| Expected::near(s.product[0], (s.terms + 2.0) * s.product[1] + s.product[2]);
        let bias = |s: &Self| Expected::near(s.grad[0], s.terms * s.grad[1]);
        [all.iter().map(weight).collect(), all.iter().map(bias).collect()]
    }
}
