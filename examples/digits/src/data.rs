//! Training and test images: the embedded digits, or files of MNIST's format.

mod idx;
mod mnist;

use crate::Result;
use std::path::Path;

pub use binade_example_shared::data::{CLASSES, Digits, Images, Source, best};

/// Loads the files in `folder`, or else the embedded images split by `seed`.
///
/// # Errors
///
/// If a file is missing or malformed.
pub fn load(folder: Option<&Path>, seed: u64) -> Result<Digits> {
    match folder {
        Some(folder) => Ok(mnist::load(folder)?),
        None => Ok(Digits::embedded(seed)?),
    }
}
