#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use binade::prelude::*;
use binade_cpu::Tensor;

/// Result of every page. The error is that of the code that noticed it.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Returns an f32 parameter.
///
/// # Errors
///
/// If the shape has another number of values.
pub fn parameter(name: &str, values: &[f32], shape: &[usize]) -> Result<Named<Tensor>> {
    Ok(Named::new(name, Tensor::new(values.to_vec(), shape)?))
}
