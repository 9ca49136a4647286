//! A vector added along the channel axis.

use super::{cast::rounded, sum::sum};
use crate::Wanted;
use binade_core::DType::F32;

/// The channel of each element of a tensor of `shape`: axis 1 of four, the last of any other number.
pub fn channels(shape: &[usize]) -> Vec<usize> {
    let axis = if shape.len() == 4 { 1 } else { shape.len() - 1 };
    let inner: usize = shape[axis + 1..].iter().product();
    (0..shape.iter().product()).map(|at: usize| at / inner % shape[axis]).collect()
}

/// `x + b` of the element's channel, rounded to `f32`.
pub fn bias_add(x: &[f64], bias: &[f64], channels: &[usize]) -> Vec<f64> {
    x.iter().zip(channels).map(|(x, &channel)| rounded(x + bias[channel], F32)).collect()
}

/// The bias' gradient: of each of `count` channels, the sum over its elements.
pub fn backward(grad: &[f64], channels: &[usize], count: usize) -> Vec<Wanted> {
    let of = |channel: usize| {
        let mine = grad.iter().zip(channels).filter(|(_, of)| **of == channel);
        sum(&mine.map(|(g, _)| *g).collect::<Vec<f64>>())
    };
    (0..count).map(of).collect()
}
