//! The digits' perceptron, trained by the ways that need no framework: the tape, a tensor of one's own,
//! and plain slices.
//!
//! candle's way and burn's are in their own examples, and `cargo xtask five-ways` puts all into one table. Everyone is given
//! the same [`Task`](binade_example_shared::five_ways::Task).

mod loss;
pub mod own_tensor;
pub mod slices;
pub mod tape;

use binade::Properties;
use binade::prelude::*;
use binade_example_shared::five_ways::{GROWTH_INTERVAL, Precision};

/// What a way ends in.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// O0 in `f32`; O2, weights in sixteen bits with `f32` masters, in the others; and the task's growth interval where the scale moves.
fn properties(precision: Precision) -> Result<Properties> {
    let properties = match precision {
        Precision::F32 => OptLevel::O0.with(DType::F32),
        Precision::Bf16 => OptLevel::O2.with(DType::BF16),
        Precision::F16 => OptLevel::O2.with(DType::F16),
    };
    if properties.loss_scale().is_fixed() {
        return Ok(properties);
    }
    let scale = properties.loss_scale().with_growth_interval(GROWTH_INTERVAL)?;
    Ok(properties.with_loss_scale(scale))
}
