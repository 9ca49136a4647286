//! Normalisation over the batch, by channel.

use super::{operands::check, row_norm::Stats};
use crate::{
    Cpu, Error, Tensor, parallel,
    reduce::{Channels, count, round, run, run2},
};
use binade_core::DType;
use binade_core::ops::{
    BatchNorm, BatchNormConfig, BatchNormOutput, NormGrads, OpInvocation, RunningStats,
};

impl BatchNorm for Cpu {
    fn batch_norm(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        running: &RunningStats<Tensor>,
        config: BatchNormConfig,
    ) -> Result<BatchNormOutput<Tensor>, Error> {
        let operands = [input, weight, bias, &running.mean, &running.var];
        let layer = Layer::new(&OpInvocation::BatchNorm { config }, &operands, input)?;
        let x = input.to_f32();
        let moments = layer.moments(&x);
        let stats: Vec<Stats> = moments.iter().map(|m| m.stats(config.eps)).collect();
        let output = layer.normalise(&x, &stats, &weight.to_f32(), &bias.to_f32());
        let unbiased = layer.unbiased();
        let means = moments.iter().map(|m| m.mean);
        let vars = moments.iter().map(|m| m.var * unbiased);
        Ok(BatchNormOutput {
            output: Tensor::from_f32(output, input.shape(), layer.dtype)?,
            running: RunningStats {
                mean: moved(&running.mean, means, config.momentum)?,
                var: moved(&running.var, vars, config.momentum)?,
            },
        })
    }

    fn batch_norm_inference(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        running: &RunningStats<Tensor>,
        eps: f32,
    ) -> Result<Tensor, Error> {
        let operands = [input, weight, bias, &running.mean, &running.var];
        let layer = Layer::new(&OpInvocation::BatchNormInference { eps }, &operands, input)?;
        let (x, stats) = (input.to_f32(), given(running, eps));
        let output = layer.normalise(&x, &stats, &weight.to_f32(), &bias.to_f32());
        Tensor::from_f32(output, input.shape(), layer.dtype)
    }

    fn batch_norm_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<NormGrads<Tensor>, Error> {
        let call = OpInvocation::BatchNormBackward { eps };
        let layer = Layer::new(&call, &[grad, input, weight], input)?;
        let (g, x, w) = (grad.to_f32(), input.to_f32(), weight.to_f32());
        let stats: Vec<Stats> = layer.moments(&x).iter().map(|m| m.stats(eps)).collect();
        let sums = layer.grad_sums(&g, &x, &stats);
        let samples = count(layer.of.samples());
        let means: Vec<_> = sums.iter().map(|of| of.map(|sum| round(sum / samples))).collect();
        let dx = layer.input_grad(&g, &x, &w, &stats, &means);
        let vector = |i: usize| sums.iter().map(|sums| round(sums[i])).collect();
        Ok(NormGrads {
            input: Tensor::from_f32(dx, input.shape(), layer.dtype)?,
            weight: Tensor::from_f32(vector(0), weight.shape(), weight.dtype())?,
            bias: Tensor::from_f32(vector(1), weight.shape(), weight.dtype())?,
        })
    }

    fn batch_norm_stats(&self, input: &Tensor) -> Result<RunningStats<Tensor>, Error> {
        let layer = Layer::new(&OpInvocation::BatchNormStats, &[input], input)?;
        let moments = layer.moments(&input.to_f32());
        let vector = |of: &dyn Fn(&Moments) -> f64| {
            let values: Vec<f32> = moments.iter().map(|moments| round(of(moments))).collect();
            Tensor::new(values, &[layer.of.count])
        };
        let unbiased = layer.unbiased();
        Ok(RunningStats {
            mean: vector(&|moments| moments.mean)?,
            var: vector(&|moments| moments.var * unbiased)?,
        })
    }

    fn batch_norm_grad_sums(
        &self,
        grad: &Tensor,
        input: &Tensor,
        stats: &RunningStats<Tensor>,
        eps: f32,
    ) -> Result<Tensor, Error> {
        let operands = [grad, input, &stats.mean, &stats.var];
        let layer = Layer::new(&OpInvocation::BatchNormGradSums { eps }, &operands, input)?;
        let sums = layer.grad_sums(&grad.to_f32(), &input.to_f32(), &given(stats, eps));
        let rows = [0, 1].into_iter().flat_map(|i| sums.iter().map(move |sums| round(sums[i])));
        Tensor::new(rows.collect(), &[2, layer.of.count])
    }

    fn batch_norm_input_grad(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        stats: &RunningStats<Tensor>,
        means: &Tensor,
        eps: f32,
    ) -> Result<Tensor, Error> {
        let operands = [grad, input, weight, &stats.mean, &stats.var, means];
        let layer = Layer::new(&OpInvocation::BatchNormInputGrad { eps }, &operands, input)?;
        let (g, x, w) = (grad.to_f32(), input.to_f32(), weight.to_f32());
        let means = means.to_f32();
        let (slopes, offsets) = means.split_at(layer.of.count);
        let means: Vec<[f32; 2]> = slopes.iter().zip(offsets).map(|(s, o)| [*s, *o]).collect();
        let dx = layer.input_grad(&g, &x, &w, &given(stats, eps), &means);
        Tensor::from_f32(dx, input.shape(), layer.dtype)
    }
}

/// Mean and biased variance of one channel.
struct Moments {
    mean: f64,
    var: f64,
}

impl Moments {
    fn stats(&self, eps: f32) -> Stats {
        Stats::new(self.mean, self.var, eps)
    }
}

/// One normalisation: the extents and type of its operands.
struct Layer {
    of: Channels,
    dtype: DType,
}

impl Layer {
    /// Checks the operands of a call that normalises `input`.
    fn new(call: &OpInvocation, operands: &[&Tensor], input: &Tensor) -> Result<Self, Error> {
        let dtype = check(call, operands)?.dtype;
        Ok(Self { of: Channels::of(input.shape(), 1), dtype })
    }

    /// Returns the factor of a biased variance that makes it unbiased.
    fn unbiased(&self) -> f64 {
        let samples = count(self.of.samples());
        samples / (samples - 1.0)
    }

    /// Computes mean and variance in two passes: the second subtracts the mean, to avoid cancellation.
    fn moments(&self, x: &[f32]) -> Vec<Moments> {
        let samples = count(self.of.samples());
        let sums = self.of.sums(|_, block| [run(&x[block], f64::from)]);
        let means: Vec<f64> = sums.into_iter().map(|[sum]| sum / samples).collect();
        let squares =
            self.of.sums(|c, block| [run(&x[block], |x| (f64::from(x) - means[c]).powi(2))]);
        let both = means.iter().zip(squares);
        both.map(|(mean, [squares])| Moments { mean: *mean, var: squares / samples }).collect()
    }

    /// Computes `(x − mean)·rstd·w + b`.
    fn normalise(&self, x: &[f32], stats: &[Stats], w: &[f32], b: &[f32]) -> Vec<f32> {
        self.by_run(x.len(), |c, first, out| {
            let Stats { mean, rstd } = stats[c];
            for (out, x) in out.iter_mut().zip(&x[first..]) {
                *out = (x - mean) * rstd * w[c] + b[c];
            }
        })
    }

    /// Computes `[Σ g·x̂, Σ g]` of each channel: the gradients of weight and bias.
    fn grad_sums(&self, g: &[f32], x: &[f32], stats: &[Stats]) -> Vec<[f64; 2]> {
        self.of.sums(|c, block| {
            let Stats { mean, rstd } = stats[c];
            let product = |g: f32, x: f32| f64::from(g) * f64::from((x - mean) * rstd);
            [run2(&g[block.clone()], &x[block.clone()], product), run(&g[block], f64::from)]
        })
    }

    /// Computes `w·rstd·(g − mean(g) − x̂·mean(g·x̂))`, of means in the order of [`grad_sums`](Self::grad_sums).
    fn input_grad(
        &self,
        g: &[f32],
        x: &[f32],
        w: &[f32],
        stats: &[Stats],
        means: &[[f32; 2]],
    ) -> Vec<f32> {
        self.by_run(x.len(), |c, first, out| {
            let Stats { mean, rstd } = stats[c];
            let [slope, offset] = means[c];
            for ((out, g), x) in out.iter_mut().zip(&g[first..]).zip(&x[first..]) {
                *out = w[c] * rstd * (g - offset - (x - mean) * rstd * slope);
            }
        })
    }

    /// Fills a tensor of `len` elements by `f(channel, first, run)`, `first` being the index of the run's first element.
    fn by_run(&self, len: usize, f: impl Fn(usize, usize, &mut [f32]) + Sync) -> Vec<f32> {
        let Channels { count, inner, .. } = self.of;
        let mut out = vec![0.0; len];
        parallel::rows(&mut out, inner, inner, |first, block| {
            for (i, run) in (first..).zip(block.chunks_exact_mut(inner)) {
                f(i % count, i * inner, run);
            }
        });
        out
    }
}

/// Returns the statistics of each channel that a caller gives.
fn given(stats: &RunningStats<Tensor>, eps: f32) -> Vec<Stats> {
    let (means, vars) = (stats.mean.to_f32(), stats.var.to_f32());
    let both = means.iter().zip(&*vars);
    both.map(|(mean, var)| Stats::new((*mean).into(), (*var).into(), eps)).collect()
}

/// Computes `(1 − momentum)·old + momentum·new`.
fn moved(old: &Tensor, new: impl Iterator<Item = f64>, momentum: f32) -> Result<Tensor, Error> {
    let momentum = f64::from(momentum);
    let (shape, old) = (old.shape(), old.to_f32());
    let moved = old
        .iter()
        .zip(new)
        .map(|(old, new)| round((1.0 - momentum) * f64::from(*old) + momentum * new));
    Tensor::new(moved.collect(), shape)
}
