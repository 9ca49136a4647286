//! Conversion between a library's numbers and powers of two.

use super::InterchangeError;
use binade_grad_scaler::{LossScale, ScaleState};

/// Largest exponent of a scale whose inverse is a normal number. It is the limit for torch's rule, which has none itself.
pub(super) const MAX_EXPONENT: i32 = LossScale::torch().max_exponent;

/// Returns a new state with a saved scale.
pub(super) fn scale(
    key: &str,
    value: f64,
    notes: &mut Vec<String>,
) -> Result<ScaleState, InterchangeError> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounded, and noted where that is not exact"
    )]
    let rounded = value as f32;
    let state = ScaleState::import(rounded);
    let state = state.ok_or_else(|| InterchangeError::Scale { key: key.into(), value })?;
    if f64::from(rounded) != value {
        notes.push(format!("`{key}` is {value:?}, which as f32 is {rounded:?}"));
    }
    if state.significand > 1.0 {
        notes.push(format!(
            "`{key}` is {rounded:?}, no power of two: kept, and scaling is not exact"
        ));
    }
    Ok(state)
}

/// Returns the binades that a growth factor gains.
pub(super) fn growth(key: &str, factor: f64) -> Result<i32, InterchangeError> {
    let gained = exponent(factor).filter(|&binades| binades >= 0);
    gained.ok_or_else(|| InterchangeError::Factor {
        key: key.into(),
        value: factor,
        expected: "a power of two, 1 or more",
        nearest: nearest(factor, [1.0, 1022.0], 2.0),
    })
}

/// Returns the binades that a backoff factor loses.
pub(super) fn backoff(key: &str, factor: f64) -> Result<i32, InterchangeError> {
    let lost = exponent(factor).filter(|&binades| binades <= 0);
    lost.map(|binades| -binades).ok_or_else(|| InterchangeError::Factor {
        key: key.into(),
        value: factor,
        expected: "a power of two, 1 or less",
        nearest: nearest(factor, [-1022.0, -1.0], 0.5),
    })
}

/// Returns the exponent of a floor.
pub(super) fn floor(key: &str, value: f64) -> Result<i32, InterchangeError> {
    let within = exponent(value).filter(|binades| binades.abs() <= MAX_EXPONENT);
    within.ok_or_else(|| InterchangeError::Factor {
        key: key.into(),
        value,
        expected: "a power of two within 2^-126..=2^126",
        nearest: nearest(value, [-126.0, 126.0], 1.0),
    })
}

/// Returns a count of steps.
pub(super) fn count(key: &str, value: i64, least: u32) -> Result<u32, InterchangeError> {
    let counted = u32::try_from(value).ok().filter(|&counted| counted >= least);
    counted.ok_or_else(|| InterchangeError::Count {
        key: key.into(),
        value,
        expected: format!("{least} or more, and below 2^32"),
    })
}

/// Returns `2^exponent` in `f64`, exactly.
pub(super) fn power(exponent: i32) -> f64 {
    2.0_f64.powi(exponent)
}

/// Returns the exponent of a power of two; `None` for other values, and if the value or its inverse is not a normal `f64`.
fn exponent(value: f64) -> Option<i32> {
    let bits = value.to_bits();
    let biased = i32::try_from(bits >> 52).unwrap_or(i32::MAX);
    let is_power = bits << 12 == 0 && (1..=2045).contains(&biased);
    is_power.then(|| biased - 1023)
}

/// Returns the power of two, with an exponent within the limits, that is nearest by ratio; `otherwise` for a value without a logarithm.
fn nearest(value: f64, [low, high]: [f64; 2], otherwise: f64) -> f64 {
    let log = value.log2();
    if log.is_finite() { log.round().clamp(low, high).exp2() } else { otherwise }
}
