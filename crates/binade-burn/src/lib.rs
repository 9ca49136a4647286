#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod autocast;
mod burn_tensor;
mod device;
mod dtype;
mod error;
mod gradients;
mod masters;
mod numbers;
mod optimizer;
mod path;
mod scaler;
mod views;

pub use burn_tensor::BurnTensor;
pub use device::Burn;
pub use dtype::{float_dtype, require_dtype};
pub use error::{Error, TensorError};
pub use gradients::{gradients_params, named_gradients};
pub use optimizer::BurnOptimizer;
pub use views::{View, Views};
