#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod burn_tensor;
mod dtype;
mod error;
mod gradients;
mod numbers;
mod optimizer;
mod parameters;
mod path;
mod sparse_lookups;
mod views;

pub use burn_tensor::{Burn, BurnTensor};
pub use dtype::require_dtype;
pub use error::{Error, TensorError};
pub use gradients::{gradients_params, named_gradients};
pub use optimizer::BurnOptimizer;
pub use parameters::{parameters, with_parameters};
pub use sparse_lookups::SparseLookups;
pub use views::Views;
