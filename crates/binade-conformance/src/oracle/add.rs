//! Elementwise sum, rounded to `f32` before it is narrowed.

use super::cast::rounded;
use binade_core::DType::F32;

/// `a + b`. Of two numbers of `f32`, the sum in `f64` rounds to `f32` as the exact one would: 53 bits are more than twice 24
/// and two (Figueroa, "When is double rounding innocuous?", 1995).
pub fn add(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| rounded(a + b, F32)).collect()
}
