//! Rows of a table, by index.

use super::cast::rounded;
use binade_core::DType::F32;

/// The places of the table's elements that the result has.
pub fn embedding(indices: &[usize], width: usize) -> Vec<usize> {
    indices.iter().flat_map(|row| row * width..(row + 1) * width).collect()
}

/// Each row of `grad` added to the row it came from, in `f32` and in the order of the indices.
pub fn backward(grad: &[f64], indices: &[usize], rows: usize, width: usize) -> Vec<f64> {
    let mut table = vec![0.0; rows * width];
    for (at, g) in embedding(indices, width).into_iter().zip(grad) {
        table[at] = rounded(table[at] + g, F32);
    }
    table
}
