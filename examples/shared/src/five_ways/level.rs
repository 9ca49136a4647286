//! Opt level of each precision, for ways whose optimizer is Binade's.

use super::{GROWTH_INTERVAL, Precision};
use binade::grad_scaler::LossScaleError;
use binade::{OptLevel, Properties};

/// Returns O0 for `f32`, and O2, weights in sixteen bits with `f32` masters, for the others. A dynamic scale has the task's
/// growth interval.
///
/// # Errors
///
/// None: the interval is valid.
pub fn properties(precision: Precision) -> Result<Properties, LossScaleError> {
    let level = if precision == Precision::F32 { OptLevel::O0 } else { OptLevel::O2 };
    let properties = level.with(precision.dtype());
    if properties.loss_scale.is_fixed() {
        return Ok(properties);
    }
    let scale = properties.loss_scale.with_growth_interval(GROWTH_INTERVAL)?;
    Ok(properties.with_loss_scale(scale))
}
