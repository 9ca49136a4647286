//! Shapes of results, from the shapes of the operands: one rule for all backends.
//!
//! A device that runs later knows its shapes now, and all devices refuse the same operands with the same words.

mod error;
mod losses;
mod norms;
mod pointwise;
mod products;
mod rows;
mod windows;

use binade_core::Op;

pub use error::ShapeError;
pub use losses::{cross_entropy, mse_loss};
pub use norms::{batch_norm, batch_norm_samples, layer_norm, softmax};
pub use pointwise::{bias_add, channels, dropout, same};
pub use products::{bmm, linear, matmul};
pub use rows::{embedding, fill, reshape, scalar};
pub use windows::{conv2d, max_pool2d};

/// Returns the number of elements of a shape; 1 for a scalar, and `usize::MAX` beyond the range of `usize`.
pub fn element_count(shape: &[usize]) -> usize {
    size(shape, 1).unwrap_or(if shape.contains(&0) { 0 } else { usize::MAX })
}

/// Returns `shape` itself, as the shape of a result of `op`.
///
/// # Errors
///
/// `InvalidArgument` if its extents, but for zeros, multiply to more than any memory holds: 2^60 on machines of 64 bits.
pub fn bounded(op: Op, shape: Vec<usize>) -> Result<Vec<usize>, ShapeError> {
    // Eight bytes an element, and no allocation has more than half of what a `usize` counts.
    match size(&shape, 16) {
        Some(_) => Ok(shape),
        None => Err(ShapeError::TooLarge { op: op.name(), shape }),
    }
}

/// Returns the bytes of a shape whose elements have `each`, or its elements if `each` is 1. Returns `None` if its extents, but
/// for zeros, multiply to more than a `usize` counts.
pub fn size(shape: &[usize], each: usize) -> Option<usize> {
    let is_empty = shape.contains(&0);
    let mut extents = shape.iter().filter(|extent| **extent != 0);
    let bytes = extents.try_fold(each, |bytes, extent| bytes.checked_mul(*extent))?;
    Some(if is_empty { 0 } else { bytes })
}
