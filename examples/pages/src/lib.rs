#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod accumulation;
pub mod clipping;
pub mod convergence;
pub mod custom_op;
pub mod gradient_penalty;
pub mod lost_updates;
pub mod policy_overrides;
pub mod two_losses;

use binade::prelude::*;
use binade_cpu::Tensor;

/// Result of every page. The error is that of the code that noticed it.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Returns an f32 parameter.
fn parameter(name: &str, values: &[f32], shape: &[usize]) -> Result<Named<Tensor>> {
    Ok(Named::new(name, Tensor::new(values.to_vec(), shape)?))
}
