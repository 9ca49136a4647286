//! A linear layer with the rectified linear unit behind it, by loops over rows and columns.

use super::{linear, relu};
use crate::Wanted;

/// `max(x·Wᵀ + b, 0)` with the mass of the sum: what is cut off is off by no more than before.
pub fn linear_relu(x: &[f64], w: &[f64], bias: Option<&[f64]>, size: [usize; 3]) -> Vec<Wanted> {
    let cut = |wanted: Wanted| match wanted.value {
        // Minus infinity is 0, and its mass nobody's room.
        value if value == f64::NEG_INFINITY => Wanted::exactly(0.0),
        value => Wanted { value: relu::relu(&[value])[0], ..wanted },
    };
    linear::linear(x, w, bias, size).into_iter().map(cut).collect()
}

/// Gradients of input, weight and bias, from the result `y`.
pub fn backward(
    grad: &[f64],
    y: &[f64],
    x: &[f64],
    w: &[f64],
    size: [usize; 3],
) -> [Vec<Wanted>; 3] {
    linear::backward(&relu::backward(grad, y), x, w, size)
}
