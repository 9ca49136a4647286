//! The definitions of the operations, in f64, as plainly as they can be written.

use super::Reals;
use binade_ops::{Conv2dConfig, MaxPool2dConfig};
use ndarray::{ArrayD, Axis, Ix2, IxDyn};

pub fn matmul(x: &[Reals]) -> Reals {
    let [a, b] = [0, 1].map(|i| x[i].clone().into_dimensionality::<Ix2>().unwrap());
    a.dot(&b).into_dyn()
}

pub fn bmm(x: &[Reals]) -> Reals {
    let pairs = x[0].outer_iter().zip(x[1].outer_iter());
    let products: Vec<Reals> = pairs.map(|(a, b)| matmul(&[a.to_owned(), b.to_owned()])).collect();
    let views: Vec<_> = products.iter().map(|product| product.view()).collect();
    ndarray::stack(Axis(0), &views).unwrap()
}

pub fn linear(x: &[Reals]) -> Reals {
    let product = matmul(&[x[0].clone(), x[1].clone().reversed_axes()]);
    match x.get(2) {
        Some(bias) => product + bias,
        None => product,
    }
}

pub fn conv2d(x: &[Reals], config: Conv2dConfig, output: [usize; 4]) -> Reals {
    let (image, kernel) = (&x[0], &x[1]);
    let [channels, kh, kw] = [1, 2, 3].map(|axis| kernel.shape()[axis]);
    ArrayD::from_shape_fn(IxDyn(&output), |at| {
        let mut sum = x.get(2).map_or(0.0, |bias| bias[at[1]]);
        for c in 0..channels {
            for ky in 0..kh {
                for kx in 0..kw {
                    let y = at[2] * config.stride[0] + ky;
                    let x = at[3] * config.stride[1] + kx;
                    sum += padded(image, [at[0], c, y, x], config.padding, 0.0)
                        * kernel[[at[1], c, ky, kx]];
                }
            }
        }
        sum
    })
}

pub fn max_pool2d(x: &[Reals], config: MaxPool2dConfig, output: [usize; 4]) -> Reals {
    ArrayD::from_shape_fn(IxDyn(&output), |at| {
        let mut largest = f64::NEG_INFINITY;
        for ky in 0..config.kernel[0] {
            for kx in 0..config.kernel[1] {
                let (row, column) = (at[2] * config.stride[0] + ky, at[3] * config.stride[1] + kx);
                let place = [at[0], at[1], row, column];
                largest = largest.max(padded(&x[0], place, config.padding, f64::NEG_INFINITY));
            }
        }
        largest
    })
}

/// An element of an image with a border, `place` counted from the border's corner.
fn padded(image: &Reals, [n, c, y, x]: [usize; 4], padding: [usize; 2], border: f64) -> f64 {
    match (y.checked_sub(padding[0]), x.checked_sub(padding[1])) {
        (Some(y), Some(x)) => image.get(&[n, c, y, x][..]).copied().unwrap_or(border),
        _ => border,
    }
}

/// `(x − mean) / √(var + eps)` over all elements.
fn normalise(x: &Reals, eps: f64) -> Reals {
    let mean = x.mean().unwrap();
    let var = x.mapv(|x| (x - mean).powi(2)).mean().unwrap();
    x.mapv(|x| (x - mean) / (var + eps).sqrt())
}

pub fn layer_norm(x: &[Reals], eps: f64) -> Reals {
    let mut out = x[0].clone();
    for mut row in out.lanes_mut(Axis(x[0].ndim() - 1)) {
        let normalised = normalise(&row.to_owned().into_dyn(), eps);
        row.assign(&(normalised * &x[1] + &x[2]).into_dimensionality::<ndarray::Ix1>().unwrap());
    }
    out
}

pub fn batch_norm(x: &[Reals], eps: f64) -> Reals {
    let mut out = x[0].clone();
    for (c, mut channel) in out.axis_iter_mut(Axis(1)).enumerate() {
        let normalised = normalise(&channel.to_owned(), eps);
        channel.assign(&(normalised * x[1][c] + x[2][c]));
    }
    out
}

pub fn softmax(x: &[Reals]) -> Reals {
    log_softmax(x).mapv(f64::exp)
}

pub fn log_softmax(x: &[Reals]) -> Reals {
    let mut out = x[0].clone();
    for mut row in out.lanes_mut(Axis(x[0].ndim() - 1)) {
        let log = row.iter().map(|x| x.exp()).sum::<f64>().ln();
        row.mapv_inplace(|x| x - log);
    }
    out
}

pub fn cross_entropy(x: &[Reals], labels: &[i64]) -> Reals {
    let logs = log_softmax(x);
    let picked = labels.iter().enumerate().map(|(i, label)| -logs[[i, *label as usize]]);
    scalar(picked.sum::<f64>() / labels.len() as f64)
}

pub fn mse_loss(x: &[Reals]) -> Reals {
    scalar((&x[0] - &x[1]).mapv(|d| d * d).mean().unwrap())
}

pub fn scalar(value: f64) -> Reals {
    ndarray::arr0(value).into_dyn()
}

/// `x·Φ(x)`, Φ by Simpson's rule over the density: no `erf` to agree with.
pub fn gelu(x: f64) -> f64 {
    let density = |t: f64| (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
    let (steps, width) = (400, x / 400.0);
    let weight = |i| match i {
        0 | 400 => 1.0,
        i if i % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let area: f64 = (0..=steps).map(|i| weight(i) * density(f64::from(i) * width)).sum();
    x * (0.5 + area * width / 3.0)
}

pub fn bias_add(x: &[Reals], axis: usize) -> Reals {
    let mut out = x[0].clone();
    for (c, mut channel) in out.axis_iter_mut(Axis(axis)).enumerate() {
        channel += x[1][c];
    }
    out
}

pub fn embedding(x: &[Reals], indices: &[i64]) -> Reals {
    let rows: Vec<usize> = indices.iter().map(|i| *i as usize).collect();
    x[0].select(Axis(0), &rows)
}
