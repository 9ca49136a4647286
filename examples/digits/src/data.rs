//! Images to learn from and to be tested on: the embedded digits, or files of MNIST's format.

mod idx;
mod mnist;

use std::path::Path;

pub use binade_example_shared::data::{CLASSES, Digits, EmbeddedError, Images, Source, best};
pub use idx::Fault;
pub use mnist::MnistError;

/// What is wrong with the data.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// With what the program carries.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// With the files of `--data`.
    #[error(transparent)]
    Mnist(#[from] MnistError),
}

/// The files in `folder`, or else the embedded images split by `seed`.
///
/// # Errors
///
/// When a file is missing or not what it should be.
pub fn load(folder: Option<&Path>, seed: u64) -> Result<Digits, DataError> {
    match folder {
        Some(folder) => Ok(mnist::load(folder)?),
        None => Ok(Digits::embedded(seed)?),
    }
}
