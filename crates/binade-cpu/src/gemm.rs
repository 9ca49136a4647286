//! Matrix products of f32, where nearly all multiplications are.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use crate::parallel;
use ndarray::{ArrayView2, ArrayViewMut2, linalg::general_mat_mul, s};

/// Least number of rows of the result for one task: each task packs the right-hand matrix anew.
const ROWS: usize = 64;

/// Number of multiplications that cost as much as one elementwise operation.
pub(crate) const PER_OPERATION: usize = 16;

/// Returns the cost of a row of the result of `multiplications`, limited so that tasks keep [`ROWS`] rows or more.
fn cost(multiplications: usize) -> usize {
    (multiplications / PER_OPERATION).clamp(1, parallel::BLOCK / ROWS)
}

/// Returns `values` as a row-major matrix.
pub(crate) fn matrix(values: &[f32], rows: usize, columns: usize) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((rows, columns), values).expect("as many elements as the shape says")
}

/// Computes `c += a·b`, with `c` row-major; every element is accumulated in f32.
///
/// `matrixmultiply` works on blocks of rows: its half-precision rivals round between blocks of K.
pub(crate) fn add_product(a: &ArrayView2<'_, f32>, b: &ArrayView2<'_, f32>, c: &mut [f32]) {
    let (k, n) = b.dim();
    parallel::rows(c, n, cost(k.saturating_mul(n)), |first, block| {
        let rows = block.len() / n;
        let a = a.slice(s![first..first + rows, ..]);
        let mut c = ArrayViewMut2::from_shape((rows, n), block).expect("whole rows");
        general_mat_mul(1.0, &a, b, 1.0, &mut c);
    });
}
