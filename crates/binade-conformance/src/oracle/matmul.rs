//! Matrix product in `f64`, where products of `f32` are exact.

#![expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]

use crate::Wanted;

/// `A·B` for row-major `A` [rows, inner] and `B` [inner, columns], with the mass inner·Σ|a||b| that bounds the error of
/// summing in `f32` (Higham, Accuracy and Stability of Numerical Algorithms, 3.5).
pub fn matmul(a: &[f64], b: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<Wanted> {
    let mut product = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            let mut wanted = Wanted::exactly(0.0);
            for at in 0..inner {
                let term = a[row * inner + at] * b[at * columns + column];
                wanted.value += term;
                wanted.products += term.abs();
            }
            wanted.mass = count(inner) * wanted.products;
            product.push(wanted);
        }
    }
    product
}

/// `grad·Bᵀ` and `Aᵀ·grad`, sums over columns and over rows.
pub fn backward(grad: &[f64], a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> [Vec<Wanted>; 2] {
    [matmul(grad, &transposed(b, k, n), [m, n, k]), matmul(&transposed(a, m, k), grad, [k, m, n])]
}

/// A row-major matrix with its axes swapped.
pub fn transposed(a: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let cells = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
    cells.map(|cell| a[cell]).collect()
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}
