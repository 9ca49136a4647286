//! A loss scale and nothing else, in a program that has its own numbers: typed, by the protocol, and over a foreign tensor.
#![forbid(unsafe_code)]

pub mod by_protocol;
pub mod foreign;
pub mod over_foreign;
pub mod typed;

use half::f16;

/// The inputs of a linear model of two weights.
pub const INPUTS: [[f32; 2]; 4] = [[1.0, 0.5], [-0.5, 1.0], [0.25, -1.0], [1.5, 1.0]];
/// The weights that the targets were made with.
pub const TRUTH: [f32; 2] = [0.5, -1.25];

/// The mean squared error at `weights`.
pub fn loss(weights: &[f32]) -> f32 {
    INPUTS.iter().map(|x| error(weights, x).powi(2)).sum::<f32>() / 4.0
}

/// `seed` times the loss's gradient, in `f16`'s range and precision: what a backward pass in `f16` gives.
pub fn gradient(weights: &[f32], seed: f32) -> Vec<f32> {
    let one = |i: usize| INPUTS.iter().map(|x| error(weights, x) * x[i] / 2.0 * seed).sum();
    (0..2).map(one).map(|sum| f16::from_f32(sum).to_f32()).collect()
}

/// Gradient descent.
pub fn descend(weights: &mut [f32], gradient: &[f32]) {
    weights.iter_mut().zip(gradient).for_each(|(weight, gradient)| *weight -= 0.4 * gradient);
}

fn error(weights: &[f32], x: &[f32; 2]) -> f32 {
    x[0] * (weights[0] - TRUTH[0]) + x[1] * (weights[1] - TRUTH[1])
}
