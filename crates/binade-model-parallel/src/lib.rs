#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
mod findings;
mod grad_scaler;
mod gradients;
mod handle;
mod masters;
mod ops;
mod snapshot;
mod tensor;

pub use error::ModelParallelError;
pub use findings::{ModelFound, PerDevice};
pub use gradients::ModelGradients;
pub use handle::{ModelDevice, ModelParallel};
pub use masters::ModelMasters;
pub use tensor::DeviceTensor;
