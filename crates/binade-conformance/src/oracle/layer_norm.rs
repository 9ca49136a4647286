//! Normalisation over the last axis, and of any one group of values.
//!
//! The doubt is that of two passes in `f32`: a mean of n values is wrong by n·2^-24 of the mean magnitude, the variance
//! about it by its own n + 4 roundings and by the square of what the mean is wrong by, and `1/√` halves what it is given
//! and adds two operations of 2 ulps.

use super::matmul::count;
use crate::Wanted;

/// 2^-24, which masses are counted in.
const UNIT: f64 = 1.0 / 16_777_216.0;

/// The statistics of one group; doubts in units of 2^-24.
#[derive(Clone, Copy, Debug)]
pub struct Stats {
    /// The mean.
    pub mean: f64,
    /// The biased variance.
    pub var: f64,
    /// `1 / √(var + eps)`.
    pub rstd: f64,
    /// What the mean may be wrong by.
    pub mean_doubt: f64,
    /// What the variance may be wrong by.
    pub var_doubt: f64,
    /// What `rstd` may be wrong by, of its value.
    pub rstd_doubt: f64,
}

impl Stats {
    /// Those of `x`.
    pub fn of(x: &[f64], eps: f64) -> Self {
        let n = count(x.len());
        let mean = x.iter().sum::<f64>() / n;
        let var = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let mean_doubt = (n + 1.0) * x.iter().map(|x| x.abs()).sum::<f64>() / n;
        let var_doubt = (n + 4.0) * var + mean_doubt * mean_doubt * UNIT;
        Self::new([mean, var], [mean_doubt, var_doubt], eps)
    }

    /// Of a mean and a variance with these doubts.
    pub fn new([mean, var]: [f64; 2], [mean_doubt, var_doubt]: [f64; 2], eps: f64) -> Self {
        let rstd_doubt = 0.5 * (var_doubt / (var + eps) + 1.0) + 8.0;
        Self { mean, var, rstd: (var + eps).sqrt().recip(), mean_doubt, var_doubt, rstd_doubt }
    }

    /// `(x − mean)·rstd`, and its doubt: the mean's, that of `rstd`, a difference and a product.
    pub fn normal(&self, x: f64) -> Wanted {
        let value = (x - self.mean) * self.rstd;
        let mass = self.mean_doubt * self.rstd + value.abs() * (self.rstd_doubt + 2.0);
        Wanted { mass, ..Wanted::exactly(value) }
    }

    /// `(x − mean)·rstd·w + b`: one product more, and one sum.
    pub fn affine(&self, x: f64, w: f64, b: f64) -> Wanted {
        let Wanted { value, mass, .. } = self.normal(x);
        let (scaled, sum) = (value * w, value * w + b);
        Wanted::near(sum, mass * w.abs() + 2.0 * scaled.abs() + sum.abs())
    }

    /// `rstd·(a − mean(a) − x̂·mean(a·x̂))` for gradients `a` of the normalised group `x`.
    pub fn backward(&self, a: &[f64], x: &[f64]) -> Vec<Wanted> {
        let n = count(x.len());
        let mean = |terms: &mut dyn Iterator<Item = f64>| terms.sum::<f64>() / n;
        let normals: Vec<Wanted> = x.iter().map(|x| self.normal(*x)).collect();
        let pairs = || a.iter().zip(&normals);
        let offset = mean(&mut a.iter().copied());
        let slope = mean(&mut pairs().map(|(a, x)| a * x.value));
        let offset_doubt = (n + 2.0) * mean(&mut a.iter().map(|a| a.abs()));
        let slope_doubt =
            mean(&mut pairs().map(|(a, x)| (n + 3.0) * (a * x.value).abs() + a.abs() * x.mass));
        let one = |(a, x): (&f64, &Wanted)| {
            let value = self.rstd * (a - offset - x.value * slope);
            let largest = a.abs() + offset.abs() + (x.value * slope).abs();
            let inner =
                4.0 * largest + offset_doubt + x.value.abs() * slope_doubt + x.mass * slope.abs();
            Wanted::near(value, self.rstd * inner + value.abs() * (self.rstd_doubt + 2.0))
        };
        pairs().map(one).collect()
    }
}

/// Each row of the weight's width, normalised.
pub fn layer_norm(x: &[f64], w: &[f64], b: &[f64], eps: f64) -> Vec<Wanted> {
    let row = |x: &[f64]| {
        let stats = Stats::of(x, eps);
        let pairs = x.iter().zip(w.iter().zip(b));
        pairs.map(|(x, (w, b))| stats.affine(*x, *w, *b)).collect::<Vec<_>>()
    };
    x.chunks(w.len().max(1)).flat_map(row).collect()
}

/// Gradients of input, weight and bias.
pub fn backward(grad: &[f64], x: &[f64], w: &[f64], eps: f64) -> [Vec<Wanted>; 3] {
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

/// `Σ g·x̂` and `Σ g`, and what they are wrong by.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    terms: f64,
    product: [f64; 3],
    grad: [f64; 2],
}

impl Sums {
    /// Takes one element in.
    pub fn add(&mut self, g: f64, x: Wanted) {
        self.terms += 1.0;
        let product = [g * x.value, (g * x.value).abs(), g.abs() * x.mass];
        self.product.iter_mut().zip(product).for_each(|(sum, term)| *sum += term);
        self.grad.iter_mut().zip([g, g.abs()]).for_each(|(sum, term)| *sum += term);
    }

    /// The gradients of weights and biases.
    pub fn wanted(all: &[Self]) -> [Vec<Wanted>; 2] {
        let weight =
            |s: &Self| Wanted::near(s.product[0], (s.terms + 2.0) * s.product[1] + s.product[2]);
        let bias = |s: &Self| Wanted::near(s.grad[0], s.terms * s.grad[1]);
        [all.iter().map(weight).collect(), all.iter().map(bias).collect()]
    }
}

#[cfg(test)]
#[expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]
mod tests {
    use super::*;

    #[test]
    fn the_gradients_are_what_central_differences_say() {
        let x = [0.5, -1.0, 2.0, 0.25, 3.0, 1.0];
        let (w, b, g) = ([1.5, -0.5, 2.0], [0.1, 0.2, 0.3], [1.0, -2.0, 0.5, 3.0, 0.25, -1.0]);
        let all: Vec<f64> = [&x[..], &w, &b].concat();
        let weighted = |all: &[f64]| -> f64 {
            let y = layer_norm(&all[..6], &all[6..9], &all[9..], 1e-5);
            y.iter().zip(g).map(|(y, g)| g * y.value).sum()
        };
        let analytic = backward(&g, &x, &w, 1e-5).concat();
        for (i, wanted) in analytic.iter().enumerate() {
            let moved = |by: f64| {
                let mut all = all.clone();
                all[i] += by;
                weighted(&all)
            };
            let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((difference - wanted.value).abs() <= 1e-7, "{i}: {difference}");
        }
    }
}
