//! A linear layer, by loops over rows and columns.

use super::matmul::{count, matmul, transposed};
use super::sum::sum;
use crate::Wanted;

/// `x·Wᵀ + b` for `x` [rows, inner] and `W` [outer, inner], with the bias as one term more of each sum.
pub fn linear(
    x: &[f64],
    w: &[f64],
    bias: Option<&[f64]>,
    [rows, inner, outer]: [usize; 3],
) -> Vec<Wanted> {
    let mut y = matmul(x, &transposed(w, outer, inner), [rows, inner, outer]);
    if let Some(bias) = bias {
        for (i, wanted) in y.iter_mut().enumerate() {
            let b = bias[i % outer];
            wanted.value += b;
            wanted.mass = count(inner + 1) * (wanted.products + b.abs());
        }
    }
    y
}

/// Gradients of input, weight and bias.
pub fn backward(
    grad: &[f64],
    x: &[f64],
    w: &[f64],
    [rows, inner, outer]: [usize; 3],
) -> [Vec<Wanted>; 3] {
    let column = |o: usize| grad.iter().skip(o).step_by(outer).copied().collect::<Vec<f64>>();
    [
        matmul(grad, w, [rows, outer, inner]),
        matmul(&transposed(grad, rows, outer), x, [outer, rows, inner]),
        (0..outer).map(|o| sum(&column(o))).collect(),
    ]
}
