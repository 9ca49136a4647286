#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
mod dtype;
mod elements;
mod error;
mod handle;
mod host;
mod masters;
pub mod ops;
mod optimizer;
mod params;
mod read;
mod scaler;
mod snapshot;
mod sparse_embedding;
mod sparse_lookups;
mod var_builder;

pub use dtype::candle_dtype;
pub use error::Error;
pub use handle::Candle;
pub use optimizer::Wrapped;
pub use params::{RUNNING_STATS, backward, grads, named, params, set_map, split_buffers};
pub use sparse_lookups::SparseLookups;
pub use var_builder::{casting_var_builder, var_builder};
