//! The logarithm of softmax.
//!
//! The oracle reads rows as that of [`softmax`](super::softmax) does.

use super::prelude::*;
use super::softmax::{Row, cost};
use crate::OpInvocation::{LogSoftmax, LogSoftmaxBackward};

static CASES: Softmaxes = Softmaxes {
    forward: LogSoftmax,
    backward: LogSoftmaxBackward,
    output: log_softmax,
    gradient: backward,
};

pub(super) fn add_cases(cases: &mut OpCases) {
    CASES.add(cases);
}

// The oracle.

/// `x − ln Σ exp(x)` for each row of `width`: two differences, and a logarithm of 2 ulps over a sum that is in doubt.
fn log_softmax(x: &[f64], width: usize) -> Vec<Expected> {
    let row = |x: &[f64]| {
        let Row { below, log, doubt, .. } = Row::of(x);
        let one = move |below: f64| {
            let value = below - log;
            Expected::near(value, 2.0 * below.abs() + 4.0 * log.abs() + doubt + 2.0 * value.abs())
        };
        below.into_iter().map(one)
    };
    x.chunks(width.max(1)).flat_map(row).collect()
}

/// `grad − exp(y)·Σ grad` from the result `y`.
fn backward(grad: &[f64], y: &[f64], width: usize) -> Vec<Expected> {
    let row = |(g, y): (&[f64], &[f64])| {
        let (total, mass) = (g.iter().sum::<f64>(), g.iter().map(|g| g.abs()).sum::<f64>());
        let mass = count(width) * mass;
        let one = |(g, y): (&f64, &f64)| {
            let (share, value) = (y.exp(), g - y.exp() * total);
            let product = share * (mass + (cost(*y) + 1.0) * total.abs());
            Expected::near(value, product + value.abs())
        };
        g.iter().zip(y).map(one).collect::<Vec<Expected>>()
    };
    let width = width.max(1);
    grad.chunks(width).zip(y.chunks(width)).flat_map(row).collect()
}
