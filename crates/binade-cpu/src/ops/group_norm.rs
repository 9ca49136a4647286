//! Normalisation over groups of channels: rows of a sample's groups, with a weight and a bias for each channel.

use super::{
    operands::check,
    row_norm::{RowNorm, Stats},
};
use crate::{
    Cpu, Error, Tensor, parallel,
    reduce::{round, run, run2, total},
};
use binade_core::TensorSpec;
use binade_core::ops::{GroupNorm, NormGrads, OpInvocation};

impl GroupNorm for Cpu {
    fn group_norm(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        groups: usize,
        eps: f32,
    ) -> Result<Tensor, Error> {
        let call = OpInvocation::GroupNorm { groups, eps };
        let TensorSpec { dtype, shape } = check(&call, &[input, weight, bias])?;
        let (x, w, b) = (input.to_f32(), weight.to_f32(), bias.to_f32());
        Tensor::from_f32(Layer::new(&shape, groups, eps).forward(&x, &w, &b), &shape, dtype)
    }

    fn group_norm_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        groups: usize,
        eps: f32,
    ) -> Result<NormGrads<Tensor>, Error> {
        let call = OpInvocation::GroupNormBackward { groups, eps };
        let TensorSpec { dtype, shape } = check(&call, &[grad, input, weight])?;
        let layer = Layer::new(&shape, groups, eps);
        let (g, x, w) = (grad.to_f32(), input.to_f32(), weight.to_f32());
        let [dw, db] = layer.parameter_grads(&g, &x);
        Ok(NormGrads {
            input: Tensor::from_f32(layer.input_grad(&g, &x, &w), &shape, dtype)?,
            weight: Tensor::from_f32(dw, weight.shape(), weight.dtype())?,
            bias: Tensor::from_f32(db, weight.shape(), weight.dtype())?,
        })
    }
}

/// Tensor `[N, C, ..]` as rows, one for each group of each sample.
struct Layer {
    samples: usize,
    groups: usize,
    /// Channels of a group.
    channels: usize,
    /// Elements of a channel of one sample.
    inner: usize,
    norm: RowNorm,
}

impl Layer {
    fn new(shape: &[usize], groups: usize, eps: f32) -> Self {
        let inner = shape[2..].iter().product();
        let norm = RowNorm { is_centred: true, eps };
        Self { samples: shape[0], groups, channels: shape[1] / groups, inner, norm }
    }

    /// Returns the number of elements of a row.
    fn width(&self) -> usize {
        self.channels * self.inner
    }

    /// Returns the values of a row's channels from `vector`, which has one for each channel.
    fn of_row<'a>(&self, vector: &'a [f32], row: usize) -> &'a [f32] {
        &vector[row % self.groups * self.channels..][..self.channels]
    }

    /// Fills a tensor like `x` row by row: `f(row, out, x)`.
    fn by_row(&self, x: &[f32], f: impl Fn(usize, &mut [f32], &[f32]) + Sync) -> Vec<f32> {
        let width = self.width();
        let mut out = parallel::zeros(x.len());
        parallel::rows(&mut out, width, width, |first, block| {
            let rows = x[first * width..].chunks_exact(width);
            for (row, (out, x)) in (first..).zip(block.chunks_exact_mut(width).zip(rows)) {
                f(row, out, x);
            }
        });
        out
    }

    /// Computes `x̂·w + b`.
    fn forward(&self, x: &[f32], w: &[f32], b: &[f32]) -> Vec<f32> {
        self.by_row(x, |row, out, x| {
            let Stats { mean, rstd } = self.norm.stats(x);
            let channels = self.of_row(w, row).iter().zip(self.of_row(b, row));
            let runs = out.chunks_exact_mut(self.inner).zip(x.chunks_exact(self.inner));
            for ((out, x), (w, b)) in runs.zip(channels) {
                out.iter_mut().zip(x).for_each(|(out, x)| *out = (x - mean) * rstd * w + b);
            }
        })
    }

    /// Computes `rstd·(g·w − mean(g·w) − x̂·mean(g·w·x̂))`.
    fn input_grad(&self, g: &[f32], x: &[f32], w: &[f32]) -> Vec<f32> {
        self.by_row(x, |row, dx, x| {
            let g = g[row * self.width()..].chunks_exact(self.inner);
            let runs = dx.chunks_exact_mut(self.inner).zip(g);
            for ((dx, g), w) in runs.zip(self.of_row(w, row)) {
                dx.iter_mut().zip(g).for_each(|(dx, g)| *dx = g * w);
            }
            self.norm.row_grad(dx, x);
        })
    }

    /// Computes `Σ g·x̂` and `Σ g` of each channel over the samples, block by block and then in the order of the blocks.
    fn parameter_grads(&self, g: &[f32], x: &[f32]) -> [Vec<f32>; 2] {
        let all = self.groups * self.channels;
        let partials = parallel::partials(self.samples, all * self.inner, |samples| {
            let mut sums = vec![[0.0; 2]; all];
            for row in samples.start * self.groups..samples.end * self.groups {
                let first = row * self.width();
                let Stats { mean, rstd } = self.norm.stats(&x[first..first + self.width()]);
                let product = |g: f32, x: f32| f64::from(g) * f64::from((x - mean) * rstd);
                let own = row % self.groups * self.channels;
                for (channel, sums) in sums[own..own + self.channels].iter_mut().enumerate() {
                    let range = first + channel * self.inner..first + (channel + 1) * self.inner;
                    let (g, x) = (&g[range.clone()], &x[range]);
                    sums[0] += run2(g, x, product);
                    sums[1] += run(g, f64::from);
                }
            }
            sums
        });
        let sums = total(&partials, all);
        [0, 1].map(|i| sums.iter().map(|sum| round(sum[i])).collect())
    }
}
