//! Normalisation over the batch: each channel as one group of [`layer_norm`](super::layer_norm).

use super::layer_norm::{Stats, Sums};
use super::matmul::count;
use crate::Wanted;

/// The channel of each element of `[N, C, ..]`.
pub fn channels(shape: &[usize]) -> Vec<usize> {
    let inner: usize = shape[2..].iter().product();
    (0..shape.iter().product()).map(|at: usize| at / inner % shape[1]).collect()
}

/// The elements of one channel.
fn of(values: &[f64], channels: &[usize], channel: usize) -> Vec<f64> {
    values.iter().zip(channels).filter(|(_, c)| **c == channel).map(|(x, _)| *x).collect()
}

fn stats(x: &[f64], channels: &[usize], count: usize, eps: f64) -> Vec<Stats> {
    (0..count).map(|channel| Stats::of(&of(x, channels, channel), eps)).collect()
}

/// By the batch's own statistics: the result, and the running mean and unbiased variance after it.
pub fn batch_norm(
    x: &[f64],
    channels: &[usize],
    [w, b]: [&[f64]; 2],
    [mean, var]: [&[f64]; 2],
    [momentum, eps]: [f64; 2],
) -> [Vec<Wanted>; 3] {
    let all = stats(x, channels, w.len(), eps);
    let pairs = x.iter().zip(channels);
    let output = pairs.map(|(x, &c)| all[c].affine(*x, w[c], b[c])).collect();
    let n = count(x.len()) / count(w.len());
    // The old one by 1 − momentum, which may be rounded, the new one, its factor of 2 roundings, and a sum.
    let moved = |old: f64, new: f64, doubt: f64| {
        let (kept, added) = ((1.0 - momentum) * old, momentum * new);
        Wanted::near(kept + added, momentum * doubt + 4.0 * (kept.abs() + added.abs()))
    };
    let unbiased = n / (n - 1.0);
    let means = all.iter().zip(mean).map(|(s, old)| moved(*old, s.mean, s.mean_doubt));
    let vars =
        all.iter().zip(var).map(|(s, old)| moved(*old, s.var * unbiased, s.var_doubt * unbiased));
    [output, means.collect(), vars.collect()]
}

/// By the running statistics, which are what they are.
pub fn inference(
    x: &[f64],
    channels: &[usize],
    [w, b]: [&[f64]; 2],
    [mean, var]: [&[f64]; 2],
    eps: f64,
) -> Vec<Wanted> {
    let both = mean.iter().zip(var);
    let all: Vec<Stats> =
        both.map(|(mean, var)| Stats::new([*mean, *var], [0.0; 2], eps)).collect();
    x.iter().zip(channels).map(|(x, &c)| all[c].affine(*x, w[c], b[c])).collect()
}

/// Gradients of input, weight and bias.
pub fn backward(
    grad: &[f64],
    x: &[f64],
    channels: &[usize],
    w: &[f64],
    eps: f64,
) -> [Vec<Wanted>; 3] {
    let all = stats(x, channels, w.len(), eps);
    let mut input = vec![Wanted::exactly(0.0); x.len()];
    let mut sums = vec![Sums::default(); w.len()];
    for (c, stats) in all.iter().enumerate() {
        let places = (0..x.len()).filter(|at| channels[*at] == c);
        let group = stats.backward(&of(grad, channels, c), &of(x, channels, c));
        for (at, Wanted { value, mass, .. }) in places.zip(group) {
            // Times the weight, which is one rounding more.
            let value = value * w[c];
            input[at] = Wanted::near(value, mass * w[c].abs() + 2.0 * value.abs());
            sums[c].add(grad[at], stats.normal(x[at]));
        }
    }
    let [weight, bias] = Sums::wanted(&sums);
    [input, weight, bias]
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
        let (w, b, g) = ([1.5, -0.5], [0.1, 0.2], [1.0, -2.0, 0.5, 3.0, 0.25, -1.0]);
        let channels = channels(&[3, 2]);
        let all: Vec<f64> = [&x[..], &w, &b].concat();
        let weighted = |all: &[f64]| -> f64 {
            let running = [&[0.0; 2][..], &[1.0; 2]];
            let [y, ..] =
                batch_norm(&all[..6], &channels, [&all[6..8], &all[8..]], running, [0.1, 1e-5]);
            y.iter().zip(g).map(|(y, g)| g * y.value).sum()
        };
        let analytic = backward(&g, &x, &channels, &w, 1e-5).concat();
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
