//! The logarithm of softmax.

use super::matmul::count;
use super::softmax::{Row, cost};
use crate::Wanted;

/// `x − ln Σ exp(x)` for each row of `width`: two differences, and a logarithm of 2 ulps over a sum that is in doubt.
pub fn log_softmax(x: &[f64], width: usize) -> Vec<Wanted> {
    let row = |x: &[f64]| {
        let Row { below, log, doubt, .. } = Row::of(x);
        let one = move |below: f64| {
            let value = below - log;
            Wanted::near(value, 2.0 * below.abs() + 4.0 * log.abs() + doubt + 2.0 * value.abs())
        };
        below.into_iter().map(one)
    };
    x.chunks(width.max(1)).flat_map(row).collect()
}

/// `grad − exp(y)·Σ grad` from the result `y`.
pub fn backward(grad: &[f64], y: &[f64], width: usize) -> Vec<Wanted> {
    let row = |(g, y): (&[f64], &[f64])| {
        let (total, mass) = (g.iter().sum::<f64>(), g.iter().map(|g| g.abs()).sum::<f64>());
        let mass = count(width) * mass;
        let one = |(g, y): (&f64, &f64)| {
            let (share, value) = (y.exp(), g - y.exp() * total);
            let product = share * (mass + (cost(*y) + 1.0) * total.abs());
            Wanted::near(value, product + value.abs())
        };
        g.iter().zip(y).map(one).collect::<Vec<Wanted>>()
    };
    let width = width.max(1);
    grad.chunks(width).zip(y.chunks(width)).flat_map(row).collect()
}
