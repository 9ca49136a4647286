//! Normalisation of rows about their mean, or about 0, and its gradients.

use crate::{
    parallel,
    reduce::{count, round, run, run2, total},
};

/// Normalisation of the rows of a matrix.
#[derive(Clone, Copy)]
pub(super) struct RowNorm {
    /// True if a row's mean is subtracted: layer normalisation.
    pub(super) is_centred: bool,
    /// Number added to the variance, or to the mean square.
    pub(super) eps: f32,
}

/// Mean and deviation that normalise a row or channel.
#[derive(Clone, Copy)]
pub(super) struct Stats {
    pub(super) mean: f32,
    /// Value of `1 / √(var + eps)`.
    pub(super) rstd: f32,
}

impl Stats {
    /// Rounds both, once.
    pub(super) fn new(mean: f64, var: f64, eps: f32) -> Self {
        Self { mean: round(mean), rstd: round((var + f64::from(eps)).sqrt().recip()) }
    }
}

impl RowNorm {
    /// Computes the statistics of one row in two passes: the second subtracts the mean, to avoid cancellation.
    pub(super) fn stats(self, row: &[f32]) -> Stats {
        let mean = if self.is_centred { run(row, f64::from) / count(row.len()) } else { 0.0 };
        let squares = run(row, |x| (f64::from(x) - mean).powi(2));
        Stats::new(mean, squares / count(row.len()), self.eps)
    }

    /// Computes `x̂·w + b` for each row, or `x̂·w` without a bias.
    pub(super) fn forward(self, x: &[f32], w: &[f32], b: Option<&[f32]>) -> Vec<f32> {
        let width = w.len();
        let mut out = parallel::zeros(x.len());
        parallel::rows(&mut out, width, width, |first, block| {
            let rows = x[first * width..].chunks_exact(width);
            for (out, x) in block.chunks_exact_mut(width).zip(rows) {
                let Stats { mean, rstd } = self.stats(x);
                for ((out, x), w) in out.iter_mut().zip(x).zip(w) {
                    *out = (x - mean) * rstd * w;
                }
                for (out, b) in out.iter_mut().zip(b.into_iter().flatten()) {
                    *out += b;
                }
            }
        });
        out
    }

    /// Computes `rstd·(g·w − mean(g·w) − x̂·mean(g·w·x̂))` for each row; about 0 without `mean(g·w)`.
    pub(super) fn input_grad(self, g: &[f32], x: &[f32], w: &[f32]) -> Vec<f32> {
        let width = w.len();
        let mut dx = parallel::zeros(x.len());
        parallel::rows(&mut dx, width, width, |first, block| {
            // `dx` holds g·w until its means are known.
            let rows =
                g[first * width..].chunks_exact(width).zip(x[first * width..].chunks_exact(width));
            for (dx, (g, x)) in block.chunks_exact_mut(width).zip(rows) {
                dx.iter_mut().zip(g).zip(w).for_each(|((dx, g), w)| *dx = g * w);
                self.row_grad(dx, x);
            }
        });
        dx
    }

    /// Computes the gradient of one row in the place of `g·w`.
    pub(super) fn row_grad(self, dx: &mut [f32], x: &[f32]) {
        let (Stats { mean, rstd }, width) = (self.stats(x), count(x.len()));
        let offset = if self.is_centred { run(dx, f64::from) / width } else { 0.0 };
        let offset = round(offset);
        let product = |g: f32, x: f32| f64::from(g) * f64::from((x - mean) * rstd);
        let slope = round(run2(dx, x, product) / width);
        for (dx, x) in dx.iter_mut().zip(x) {
            *dx = rstd * (*dx - offset - (x - mean) * rstd * slope);
        }
    }

    /// Computes `Σ g·x̂` and `Σ g` over the rows, block by block and then in the order of the blocks.
    pub(super) fn parameter_grads(self, g: &[f32], x: &[f32], width: usize) -> [Vec<f32>; 2] {
        let rows = x.len().checked_div(width).unwrap_or(0);
        let partials = parallel::partials(rows, width, |rows| {
            let mut sums = vec![[0.0; 2]; width];
            for row in rows {
                let range = row * width..(row + 1) * width;
                let Stats { mean, rstd } = self.stats(&x[range.clone()]);
                for ((sum, g), x) in sums.iter_mut().zip(&g[range.clone()]).zip(&x[range]) {
                    sum[0] += f64::from(*g) * f64::from((x - mean) * rstd);
                    sum[1] += f64::from(*g);
                }
            }
            sums
        });
        let sums = total(&partials, width);
        [0, 1].map(|i| sums.iter().map(|sum| round(sum[i])).collect())
    }
}
