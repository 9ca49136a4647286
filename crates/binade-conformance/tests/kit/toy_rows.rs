//! The toy's operations over rows and channels: softmax, losses, norms.

use crate::toy::Plain;
use crate::toy_ops::{count, indices, scalar, total, zip};
use binade_conformance::{OpInvocation, Refusal};
use binade_core::DType;

/// `None` for what is none of these.
pub(crate) fn compute(op: &OpInvocation, t: &[&Plain]) -> Option<Result<Vec<Plain>, Refusal>> {
    use OpInvocation as C;
    Some(Ok(match (op, t) {
        (C::Softmax, [x]) => vec![by_row(x, softmax)],
        (C::SoftmaxBackward, [g, y]) => vec![by_rows(g, y, |g, y| {
            let dot = total(&g.iter().zip(y).map(|(g, y)| g * y).collect::<Vec<f32>>());
            g.iter().zip(y).map(|(g, y)| y * (g - dot)).collect()
        })],
        (C::LogSoftmax, [x]) => vec![by_row(x, |x| {
            let (max, log) = normaliser(x);
            x.iter().map(|x| (x - max) - log).collect()
        })],
        (C::LogSoftmaxBackward, [g, y]) => vec![by_rows(g, y, |g, y| {
            let sum = total(g);
            g.iter().zip(y).map(|(g, y)| g - y.exp() * sum).collect()
        })],
        (C::CrossEntropy, [x, labels]) => return Some(cross_entropy(x, labels)),
        (C::CrossEntropyBackward, [g, x, labels]) => {
            return Some(cross_entropy_back(g.read()[0] / count(x.shape[0]), x, labels));
        }
        (C::MseLoss, [x, y]) => {
            let squares: Vec<f32> =
                x.read().iter().zip(y.read()).map(|(x, y)| (x - y) * (x - y)).collect();
            vec![scalar(total(&squares) / count(squares.len()))]
        }
        (C::MseLossBackward, [g, x, y]) => {
            let factor = 2.0 * g.read()[0] / count(x.read().len());
            vec![zip(x, y, |x, y| (x - y) * factor), zip(y, x, |x, y| (x - y) * factor)]
        }
        (C::LayerNorm { eps }, [x, w, b]) => vec![layer_norm(x, w, b, *eps, variance)],
        (C::LayerNormBackward { eps }, [g, x, w]) => layer_norm_back(g, x, w, *eps),
        (C::BatchNorm { config }, [x, w, b, mean, var]) => {
            batch_norm([x, w, b], [mean, var], config.momentum, config.eps, variance)
        }
        (C::BatchNormInference { eps }, [x, w, b, mean, var]) => {
            let (w, b, mean, var) = (w.read(), b.read(), mean.read(), var.read());
            vec![channels(x, |c, x| {
                let rstd = 1.0 / (var[c] + eps).sqrt();
                x.iter().map(|x| (x - mean[c]) * rstd * w[c] + b[c]).collect()
            })]
        }
        (C::BatchNormBackward { eps }, [g, x, w]) => batch_norm_back(g, x, w, *eps),
        _ => return None,
    }))
}

pub(crate) fn by_row(x: &Plain, f: impl Fn(&[f32]) -> Vec<f32>) -> Plain {
    by_rows(x, x, |x, _| f(x))
}

fn by_rows(a: &Plain, b: &Plain, f: impl Fn(&[f32], &[f32]) -> Vec<f32>) -> Plain {
    let width = a.shape.last().copied().unwrap_or(1).max(1);
    let (left, right) = (a.read(), b.read());
    let rows = left.chunks(width).zip(right.chunks(width));
    Plain::write(&rows.flat_map(|(a, b)| f(a, b)).collect::<Vec<f32>>(), a.dtype, &a.shape)
}

pub(crate) fn softmax(x: &[f32]) -> Vec<f32> {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let terms: Vec<f32> = x.iter().map(|x| (x - max).exp()).collect();
    let sum = total(&terms);
    terms.iter().map(|term| term / sum).collect()
}

/// The largest element, and the logarithm of the sum of the exponentials below it.
fn normaliser(x: &[f32]) -> (f32, f32) {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    (max, total(&x.iter().map(|x| (x - max).exp()).collect::<Vec<f32>>()).ln())
}

fn cross_entropy(x: &Plain, labels: &Plain) -> Result<Vec<Plain>, Refusal> {
    let (classes, values) = (x.shape[1], x.read());
    let rows = values.chunks(classes.max(1)).zip(indices(labels, classes)?);
    let losses = rows.map(|(x, label)| {
        let (max, log) = normaliser(x);
        log - (x[label] - max)
    });
    Ok(vec![scalar(total(&losses.collect::<Vec<f32>>()) / count(x.shape[0]))])
}

/// `(softmax − onehot)·factor`.
pub(crate) fn cross_entropy_back(
    factor: f32,
    x: &Plain,
    labels: &Plain,
) -> Result<Vec<Plain>, Refusal> {
    let (classes, values) = (x.shape[1], x.read());
    let rows = values.chunks(classes.max(1)).zip(indices(labels, classes)?);
    let grads = rows.flat_map(|(x, label)| {
        let mut shares = softmax(x);
        shares[label] -= 1.0;
        shares.into_iter().map(|share| share * factor).collect::<Vec<f32>>()
    });
    Ok(vec![Plain::write(&grads.collect::<Vec<f32>>(), x.dtype, &x.shape)])
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

/// `rstd·(a − mean(a) − x̂·mean(a·x̂))`.
fn group_back(a: &[f32], x: &[f32], eps: f32) -> Vec<f32> {
    let (mean, rstd) = stats(x, eps, variance);
    let normal: Vec<f32> = x.iter().map(|x| (x - mean) * rstd).collect();
    let offset = total(a) / count(a.len());
    let products: Vec<f32> = a.iter().zip(&normal).map(|(a, x)| a * x).collect();
    let slope = total(&products) / count(a.len());
    a.iter().zip(normal).map(|(a, x)| rstd * (a - offset - x * slope)).collect()
}

fn layer_norm_back(g: &Plain, x: &Plain, w: &Plain, eps: f32) -> Vec<Plain> {
    let weight = w.read();
    let input = by_rows(g, x, |g, x| {
        let a: Vec<f32> = g.iter().zip(&weight).map(|(g, w)| g * w).collect();
        group_back(&a, x, eps)
    });
    let width = weight.len();
    let (mut dw, mut db) = (vec![0.0; width], vec![0.0; width]);
    let (grads, values) = (g.read(), x.read());
    for (g, x) in grads.chunks(width.max(1)).zip(values.chunks(width.max(1))) {
        let (mean, rstd) = stats(x, eps, variance);
        for i in 0..width {
            dw[i] += g[i] * ((x[i] - mean) * rstd);
            db[i] += g[i];
        }
    }
    let vector = |values: &[f32]| Plain::write(values, w.dtype, &[width]);
    vec![input, vector(&dw), vector(&db)]
}

/// The places of each channel's elements.
fn places(shape: &[usize]) -> Vec<Vec<usize>> {
    let inner: usize = shape[2..].iter().product();
    let all = 0..shape.iter().product::<usize>();
    (0..shape[1]).map(|c| all.clone().filter(|at| at / inner % shape[1] == c).collect()).collect()
}

/// What `f` makes of each channel's elements.
fn channels(x: &Plain, f: impl Fn(usize, &[f32]) -> Vec<f32>) -> Plain {
    let mut values = x.read();
    for (c, places) in places(&x.shape).into_iter().enumerate() {
        let channel: Vec<f32> = places.iter().map(|at| values[*at]).collect();
        for (at, value) in places.into_iter().zip(f(c, &channel)) {
            values[at] = value;
        }
    }
    Plain::write(&values, x.dtype, &x.shape)
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
    for (c, places) in places(&x.shape).into_iter().enumerate() {
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

fn batch_norm_back(g: &Plain, x: &Plain, w: &Plain, eps: f32) -> Vec<Plain> {
    let (weight, grads, values) = (w.read(), g.read(), x.read());
    let mut input = vec![0.0; values.len()];
    let (mut dw, mut db) = (Vec::new(), Vec::new());
    for (c, places) in places(&x.shape).into_iter().enumerate() {
        let of = |all: &[f32]| places.iter().map(|at| all[*at]).collect::<Vec<f32>>();
        let (g, x) = (of(&grads), of(&values));
        for (at, dx) in places.iter().zip(group_back(&g, &x, eps)) {
            input[*at] = weight[c] * dx;
        }
        let (mean, rstd) = stats(&x, eps, variance);
        let products: Vec<f32> = g.iter().zip(&x).map(|(g, x)| g * ((x - mean) * rstd)).collect();
        dw.push(total(&products));
        db.push(total(&g));
    }
    let vector = |values: &[f32]| Plain::write(values, w.dtype, &[values.len()]);
    vec![Plain::write(&input, x.dtype, &x.shape), vector(&dw), vector(&db)]
}
