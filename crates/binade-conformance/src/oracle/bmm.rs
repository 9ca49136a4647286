//! A batch of matrix products: each pair by itself.

#![expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]

use super::matmul::{matmul, transposed};
use crate::Wanted;

/// The product of each pair.
pub fn bmm(a: &[f64], b: &[f64], size @ [m, k, n]: [usize; 3]) -> Vec<Wanted> {
    let pairs = a.chunks((m * k).max(1)).zip(b.chunks((k * n).max(1)));
    pairs.flat_map(|(a, b)| matmul(a, b, size)).collect()
}

/// `grad·Bᵀ` and `Aᵀ·grad` of each pair.
pub fn backward(grad: &[f64], a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> [Vec<Wanted>; 2] {
    let (mut da, mut db) = (Vec::new(), Vec::new());
    let pairs = a.chunks((m * k).max(1)).zip(b.chunks((k * n).max(1)));
    for (g, (a, b)) in grad.chunks((m * n).max(1)).zip(pairs) {
        da.extend(matmul(g, &transposed(b, k, n), [m, n, k]));
        db.extend(matmul(&transposed(a, m, k), g, [k, m, n]));
    }
    [da, db]
}
