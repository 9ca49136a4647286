//! Softmax over the last axis.
//!
//! A device's `exp` is allowed 2 ulps, 4·2^-24 of its value, and an argument `x − max` that is rounded and, for a base of 2,
//! multiplied by a constant: `|x − max|`·3·2^-24 more. With a rounding to spare, that is [`cost`].

use super::prelude::*;
use crate::OpInvocation::{Softmax, SoftmaxBackward};

static CASES: Softmaxes =
    Softmaxes { forward: Softmax, backward: SoftmaxBackward, output: softmax, gradient: backward };

pub(super) fn add_cases(cases: &mut OpCases) {
    CASES.add(cases);
}

// The oracle.

/// Shares of one row, and each element's distance from the largest.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// `exp(x) / Σ exp(x)`.
    pub(super) shares: Vec<f64>,
    /// `x − max`.
    pub(super) below: Vec<f64>,
    /// `ln Σ exp(x − max)`.
    pub(super) log: f64,
    /// Relative error of the sum of exponentials in units of 2^-24: its terms, and as many additions.
    pub(super) doubt: f64,
}

impl Row {
    /// Returns a row's shares; all are NaN if the row has a NaN or +∞, or nothing but −∞.
    pub(super) fn of(x: &[f64]) -> Self {
        let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let below: Vec<f64> = x.iter().map(|x| x - max).collect();
        let sum: f64 = below.iter().map(|x| x.exp()).sum();
        let shares: Vec<f64> = below.iter().map(|x| x.exp() / sum).collect();
        let doubt = shares.iter().zip(&below).map(|(share, below)| share * cost(*below));
        let doubt = count(x.len()) + doubt.sum::<f64>();
        Self { shares, below, log: sum.ln(), doubt }
    }
}

/// Returns the relative error of the exponential of `below` in units of 2^-24: exactly 0 for a masked element.
pub(super) fn cost(below: f64) -> f64 {
    if below.is_finite() { 5.0 + 3.0 * below.abs() } else { 0.0 }
}

/// `exp(x) / Σ exp(x)` for each row of `width`: an exponential, the sum, and two roundings of a division by it.
fn softmax(x: &[f64], width: usize) -> Vec<Expected> {
    let row = |x: &[f64]| {
        let Row { shares, below, doubt, .. } = Row::of(x);
        let one = move |(share, below): (f64, f64)| {
            Expected::near(share, share * (cost(below) + doubt + 3.0))
        };
        shares.into_iter().zip(below).map(one)
    };
    x.chunks(width.max(1)).flat_map(row).collect()
}

/// `y·(grad − Σ grad·y)` from the result `y`: a product and an addition for each term of the sum, a difference, a product.
fn backward(grad: &[f64], y: &[f64], width: usize) -> Vec<Expected> {
    let row = |(g, y): (&[f64], &[f64])| {
        let terms: Vec<f64> = g.iter().zip(y).map(|(g, y)| g * y).collect();
        let (dot, mass) = (terms.iter().sum::<f64>(), terms.iter().map(|t| t.abs()).sum::<f64>());
        let mass = (count(width) + 2.0) * mass;
        let one = |(g, y): (&f64, &f64)| {
            Expected::near(y * (g - dot), y.abs() * (mass + 3.0 * (g - dot).abs()))
        };
        g.iter().zip(y).map(one).collect::<Vec<Expected>>()
    };
    let width = width.max(1);
    grad.chunks(width).zip(y.chunks(width)).flat_map(row).collect()
}
