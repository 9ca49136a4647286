//! Tensor of one's own, trained in mixed precision: see `docs/src/your-own-tensor.md`.
//!
//! [`tensor`] and [`arithmetic`] are its owner's code; [`join`] implements Binade's contract, and [`with`] uses Binade.
//! [`without`] is the same training without it. [`static_join`] and [`static_mlp`] are a model of ndarray's arrays, whose element
//! type is a type parameter.

#![forbid(unsafe_code)]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "counts of images are small, and rates are rounded to f32 on purpose"
)]

pub mod arithmetic;
pub mod digits;
pub mod join;
pub mod mlp;
pub mod static_join;
pub mod static_mlp;
pub mod subject;
mod table;
pub mod tensor;
pub mod with;
pub mod without;

pub use table::{Row, table};

use binade::core::DType;
use with::Run;

/// Result of everything here. The error is that of the code that noticed it.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Passes over the training images, as on the page.
pub const EPOCHS: u64 = 8;
/// Images a step.
const BATCH: usize = 32;
/// Learning rate.
const LR: f64 = 0.004;

/// Trains the four runs of the table, each for `epochs` passes over the training images.
///
/// # Errors
///
/// If one with Binade diverges, or is resumed to other bits.
pub fn runs(epochs: u64) -> Result<Vec<Row>> {
    let digits = digits::load()?;
    Ok(vec![
        without::train(DType::F32, epochs, &digits)?,
        without::train(DType::F16, epochs, &digits)?,
        Run::whole(DType::F16, epochs, &digits)?,
        Run::whole(DType::BF16, epochs, &digits)?,
    ])
}

/// Examples of the page, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/your-own-tensor.md")]
pub struct Page;
