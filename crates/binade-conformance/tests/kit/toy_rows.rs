//! The toy's operations over rows and channels: softmax, losses, norms.

use crate::toy::{Elements, Plain};
use crate::toy_ops::{count, indices, total};
use binade_conformance::Result;
use binade_core::DType;

pub(crate) fn by_row(x: &Plain, f: impl Fn(&[f32]) -> Vec<f32>) -> Plain {
    by_rows(x, x, |x, _| f(x))
}

fn by_rows(a: &Plain, b: &Plain, f: impl Fn(&[f32], &[f32]) -> Vec<f32>) -> Plain {
    let width = a.shape().last().copied().unwrap_or(1).max(1);
    let (left, right) = (a.read(), b.read());
    let rows = left.chunks(width).zip(right.chunks(width));
    Plain::write(&rows.flat_map(|(a, b)| f(a, b)).collect::<Vec<f32>>(), a.dtype(), a.shape())
}

pub(crate) fn softmax(x: &[f32]) -> Vec<f32> {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let terms: Vec<f32> = x.iter().map(|x| (x - max).exp()).collect();
    let sum = total(&terms);
    terms.iter().map(|term| term / sum).collect()
}

/// `(softmax − onehot)·factor`.
pub(crate) fn cross_entropy_back(factor: f32, x: &Plain, labels: &Plain) -> Result<Vec<Plain>> {
    let (classes, values) = (x.shape()[1], x.read());
    let rows = values.chunks(classes.max(1)).zip(indices(labels, classes)?);
    let grads = rows.flat_map(|(x, label)| {
        let mut shares = softmax(x);
        shares[label] -= 1.0;
        shares.into_iter().map(|share| share * factor).collect::<Vec<f32>>()
    });
    Ok(vec![Plain::write(&grads.collect::<Vec<f32>>(), x.dtype(), x.shape())])
}

/// A variance of values about their mean.
pub(crate) type Variance = fn(&[f32], f32) -> f32;

/// By a second pass, about the mean.
pub(crate) fn variance(x: &[f32], mean: f32) -> f32 {
    total(&x.iter().map(|x| (x - mean) * (x - mean)).collect::<Vec<f32>>()) / count(x.len())
}

/// Mean and `1 / √(var + eps)`.
fn stats(x: &[f32], eps: f32, variance: Variance) -> (f32, f32) {
    let mean = total(x) / count(x.len());
    (mean, 1.0 / (variance(x, mean) + eps).sqrt())
}

pub(crate) fn layer_norm(x: &Plain, w: &Plain, b: &Plain, eps: f32, variance: Variance) -> Plain {
    let (w, b) = (w.read(), b.read());
    by_row(x, |x| {
        let (mean, rstd) = stats(x, eps, variance);
        x.iter().zip(w.iter().zip(&b)).map(|(x, (w, b))| (x - mean) * rstd * w + b).collect()
    })
}

/// The places of each channel's elements.
fn places(shape: &[usize]) -> Vec<Vec<usize>> {
    let inner: usize = shape[2..].iter().product();
    let all = 0..shape.iter().product::<usize>();
    (0..shape[1]).map(|c| all.clone().filter(|at| at / inner % shape[1] == c).collect()).collect()
}

/// Results of `f` for each channel's elements.
fn channels(x: &Plain, f: impl Fn(usize, &[f32]) -> Vec<f32>) -> Plain {
    let mut values = x.read();
    for (c, places) in places(x.shape()).into_iter().enumerate() {
        let channel: Vec<f32> = places.iter().map(|at| values[*at]).collect();
        for (at, value) in places.into_iter().zip(f(c, &channel)) {
            values[at] = value;
        }
    }
    Plain::write(&values, x.dtype(), x.shape())
}

pub(crate) fn batch_norm(
    [x, w, b]: [&Plain; 3],
    [mean, var]: [&Plain; 2],
    momentum: f32,
    eps: f32,
    by: Variance,
) -> Vec<Plain> {
    let (weight, bias, values) = (w.read(), b.read(), x.read());
    let output = channels(x, |c, x| {
        let (mean, rstd) = stats(x, eps, by);
        x.iter().map(|x| (x - mean) * rstd * weight[c] + bias[c]).collect()
    });
    let (mut means, mut vars) = (mean.read(), var.read());
    for (c, places) in places(x.shape()).into_iter().enumerate() {
        let channel: Vec<f32> = places.iter().map(|at| values[*at]).collect();
        let n = count(channel.len());
        let mean = total(&channel) / n;
        let unbiased = variance(&channel, mean) * (n / (n - 1.0));
        means[c] = (1.0 - momentum) * means[c] + momentum * mean;
        vars[c] = (1.0 - momentum) * vars[c] + momentum * unbiased;
    }
    let vector = |values: &[f32]| Plain::write(values, DType::F32, &[values.len()]);
    vec![output, vector(&means), vector(&vars)]
}
