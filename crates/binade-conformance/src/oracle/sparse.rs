//! A sparse gradient made whole: rows of one coordinate added in `f32`, one after the other as they are listed.

use super::cast::rounded;
use binade_core::DType;

/// A sparse gradient as numbers.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// The sizes of the sparse dimensions.
    pub shape: &'a [usize],
    /// Elements of one row.
    pub width: usize,
    /// By dimension, each entry's index in it.
    pub indices: &'a [Vec<usize>],
    /// One row after the other.
    pub values: Vec<f64>,
    /// What each sum is rounded to in the end.
    pub sums: DType,
}

/// Every element of the gradient, zeros where no row is.
pub fn whole(rows: &Rows<'_>) -> Vec<f64> {
    let elements = rows.shape.iter().product::<usize>() * rows.width;
    let mut sums: Vec<Option<f64>> = vec![None; elements];
    let entries = rows.indices.first().map_or(0, Vec::len);
    for entry in 0..entries {
        // The last dimension runs fastest.
        let mut row = 0;
        for (size, indices) in rows.shape.iter().zip(rows.indices) {
            row = row * size + indices[entry];
        }
        for column in 0..rows.width {
            let x = rows.values[entry * rows.width + column];
            let sum = &mut sums[row * rows.width + column];
            *sum = Some(sum.map_or(x, |sum| rounded(sum + x, DType::F32)));
        }
    }
    sums.into_iter().map(|sum| rounded(sum.unwrap_or(0.0), rows.sums)).collect()
}
