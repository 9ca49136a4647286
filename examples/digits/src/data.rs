//! Training and test images: the embedded digits, or files of MNIST's format.

mod idx;
mod mnist;

use std::path::Path;

pub use binade_example_shared::data::{CLASSES, Digits, EmbeddedError, Images, Source, best};

/// Fault of the data.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Fault of the embedded data.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// Fault of the files of `--data`, in words that name the file.
    #[error("{0}")]
    Files(String),
}

/// Loads the files in `folder`, or else the embedded images split by `seed`.
///
/// # Errors
///
/// If a file is missing or malformed.
pub fn load(folder: Option<&Path>, seed: u64) -> Result<Digits, DataError> {
    match folder {
        Some(folder) => mnist::load(folder).map_err(DataError::Files),
        None => Ok(Digits::embedded(seed)?),
    }
}
