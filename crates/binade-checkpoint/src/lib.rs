#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod checkpoint;
mod config;
mod draft;
mod dtype;
mod error;
mod file;
mod format;
mod index;
pub mod order;
mod restore;
mod torch;

pub use checkpoint::{Checkpoint, SavedOptimizer, SavedScaler};
pub use draft::Draft;
pub use error::{DraftError, FileError, FormatError, Mismatch, RestoreError, SaveError};
pub use file::{Loaded, previous};
pub use restore::Restore;
pub use torch::load_torch_optimizer;
