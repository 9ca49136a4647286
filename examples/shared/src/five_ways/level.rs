//! Opt level of each precision, for ways whose optimizer is Binade's.

use super::{GROWTH_INTERVAL, Precision};
use binade::core::DType;
use binade::grad_scaler::LossScaleError;
use binade::{OptLevel, Properties};

/// Returns O0 for `f32`, and O2, weights in sixteen bits with `f32` masters, for the others. A dynamic scale has the task's
/// growth interval.
///
/// # Errors
///
/// None: the interval is valid.
pub fn properties(precision: Precision) -> Result<Properties, LossScaleError> {
    let properties = match precision {
        Precision::F32 => OptLevel::O0.with(DType::F32),
        Precision::Bf16 => OptLevel::O2.with(DType::BF16),
        Precision::F16 => OptLevel::O2.with(DType::F16),
    };
    if properties.loss_scale.is_fixed() {
        return Ok(properties);
    }
    let scale = properties.loss_scale.with_growth_interval(GROWTH_INTERVAL)?;
    Ok(properties.with_loss_scale(scale))
}
