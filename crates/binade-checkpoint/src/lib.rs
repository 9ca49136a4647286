#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod by_rank;
mod checkpoint;
mod config;
mod draft;
mod dtype;
mod error;
mod file;
mod format;
mod index;
mod manifest;
pub mod order;
mod part;
mod restore;
mod slices;
mod torch;

pub use checkpoint::{Checkpoint, SavedOptimizer, SavedScaler};
pub use draft::Draft;
pub use error::{DraftError, FileError, FormatError, Mismatch, RestoreError, SaveError};
pub use file::{Loaded, previous};
pub use format::read_safetensors;
pub use restore::Restore;
pub use torch::load_torch_optimizer;
