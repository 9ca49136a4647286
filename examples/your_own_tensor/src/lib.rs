//! A tensor of one's own, trained in mixed precision: see `docs/src/your-own-tensor.md`.
//!
//! [`tensor`] and [`arithmetic`] are what its owner had; [`join`] is what Binade asks, and [`with`] what it gives.
//! [`without`] is the same training without it. [`static_join`] and [`static_mlp`] are a model of ndarray's arrays, whose element type is
//! a type parameter.

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

/// What everything returns: the first who noticed says what is wrong.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Passes over the training images that the page tells of.
pub const EPOCHS: u64 = 8;
/// Images a step.
const BATCH: usize = 32;
/// The learning rate.
const LR: f64 = 0.004;

/// The four runs that the table tells of, each of so many passes over the training images.
///
/// # Errors
///
/// When one with Binade diverges, or is resumed to other bits.
pub fn runs(epochs: u64) -> Result<Vec<Row>> {
    let digits = digits::load()?;
    Ok(vec![
        without::train(DType::F32, epochs, &digits)?,
        without::train(DType::F16, epochs, &digits)?,
        Run::whole(DType::F16, epochs, &digits)?,
        Run::whole(DType::BF16, epochs, &digits)?,
    ])
}

/// The page's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/your-own-tensor.md")]
pub struct Page;
