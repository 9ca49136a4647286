//! Normalisation over the last axis.

use super::operands::check;
use crate::{
    Cpu, Error, Tensor, parallel,
    reduce::{count, round, run, run2},
};
use binade_core::TensorSpec;
use binade_core::ops::{LayerNorm, NormGrads, OpInvocation};

impl LayerNorm for Cpu {
    fn layer_norm(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        eps: f32,
    ) -> Result<Tensor, Error> {
        let call = OpInvocation::LayerNorm { eps };
        let TensorSpec { dtype, shape } = check(&call, &[input, weight, bias])?;
        let (x, w, b) = (input.to_f32(), weight.to_f32(), bias.to_f32());
        let mut out = vec![0.0; x.len()];
        parallel::rows(&mut out, w.len(), w.len(), |first, block| {
            let rows = x[first * w.len()..].chunks_exact(w.len());
            for (out, x) in block.chunks_exact_mut(w.len()).zip(rows) {
                let Stats { mean, rstd } = Stats::of(x, eps);
                for (((out, x), w), b) in out.iter_mut().zip(x).zip(&*w).zip(&*b) {
                    *out = (x - mean) * rstd * w + b;
                }
            }
        });
        Tensor::from_f32(out, &shape, dtype)
    }

    fn layer_norm_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<NormGrads<Tensor>, Error> {
        let call = OpInvocation::LayerNormBackward { eps };
        let TensorSpec { dtype, shape } = check(&call, &[grad, input, weight])?;
        let (g, x, w) = (grad.to_f32(), input.to_f32(), weight.to_f32());
        let [dw, db] = parameter_grads(&g, &x, w.len(), eps);
        Ok(NormGrads {
            input: Tensor::from_f32(input_grad(&g, &x, &w, eps), &shape, dtype)?,
            weight: Tensor::from_f32(dw, weight.shape(), weight.dtype())?,
            bias: Tensor::from_f32(db, weight.shape(), weight.dtype())?,
        })
    }
}

/// Mean and deviation that normalise a row or channel.
#[derive(Clone, Copy)]
pub(super) struct Stats {
    pub(super) mean: f32,
    /// Value of `1 / √(var + eps)`.
    pub(super) rstd: f32,
}

impl Stats {
    /// Computes the statistics of one row by two passes: the second is about the mean, so that nothing cancels.
    fn of(row: &[f32], eps: f32) -> Self {
        let mean = run(row, f64::from) / count(row.len());
        let squares = run(row, |x| (f64::from(x) - mean).powi(2));
        Self::new(mean, squares / count(row.len()), eps)
    }

    /// Rounds both, once.
    pub(super) fn new(mean: f64, var: f64, eps: f32) -> Self {
        Self { mean: round(mean), rstd: round((var + f64::from(eps)).sqrt().recip()) }
    }
}

/// Computes `rstd·(g·w − mean(g·w) − x̂·mean(g·w·x̂))` for each row.
fn input_grad(g: &[f32], x: &[f32], w: &[f32], eps: f32) -> Vec<f32> {
    let width = w.len();
    let mut dx = vec![0.0; x.len()];
    parallel::rows(&mut dx, width, width, |first, block| {
        // `dx` holds g·w until its means are known.
        let rows =
            g[first * width..].chunks_exact(width).zip(x[first * width..].chunks_exact(width));
        for (dx, (g, x)) in block.chunks_exact_mut(width).zip(rows) {
            let Stats { mean, rstd } = Stats::of(x, eps);
            dx.iter_mut().zip(g).zip(w).for_each(|((dx, g), w)| *dx = g * w);
            let offset = round(run(dx, f64::from) / count(width));
            let product = |g: f32, x: f32| f64::from(g) * f64::from((x - mean) * rstd);
            let slope = round(run2(dx, x, product) / count(width));
            for (dx, x) in dx.iter_mut().zip(x) {
                *dx = rstd * (*dx - offset - (x - mean) * rstd * slope);
            }
        }
    });
    dx
}

/// Computes `Σ g·x̂` and `Σ g` over the rows, block by block and then in the order of the blocks.
fn parameter_grads(g: &[f32], x: &[f32], width: usize, eps: f32) -> [Vec<f32>; 2] {
    let rows = x.len().checked_div(width).unwrap_or(0);
    let partials = parallel::partials(rows, width, |rows| {
        let mut sums = vec![[0.0; 2]; width];
        for row in rows {
            let range = row * width..(row + 1) * width;
            let Stats { mean, rstd } = Stats::of(&x[range.clone()], eps);
            for ((sum, g), x) in sums.iter_mut().zip(&g[range.clone()]).zip(&x[range]) {
                sum[0] += f64::from(*g) * f64::from((x - mean) * rstd);
                sum[1] += f64::from(*g);
            }
        }
        sums
    });
    let sums = crate::reduce::total(&partials, width);
    [0, 1].map(|i| sums.iter().map(|sum| round(sum[i])).collect())
}
