//! Elementwise product, rounded to `f32` before it is narrowed.

use super::cast::rounded;
use binade_core::DType::F32;

/// `a·b`; of two numbers of `f32`, the product in `f64` is exact.
pub fn mul(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| rounded(a * b, F32)).collect()
}
