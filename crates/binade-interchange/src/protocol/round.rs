//! Conversions of `f64` arithmetic on the scale to `f32`: there are two.

use super::ProtocolError;

/// Rounds once, to nearest even; numbers beyond the range of `f32` become an infinity.
#[expect(clippy::cast_possible_truncation, reason = "rounding is the point")]
pub(super) fn to_f32(value: f64) -> f32 {
    value as f32
}

/// Returns a number as it is stored in torch's `f32` scale tensor, which refuses finite values outside its range.
pub(super) fn stored(value: f64) -> Result<f32, ProtocolError> {
    if value.is_finite() && value.abs() > f64::from(f32::MAX) {
        return Err(ProtocolError::OutOfRange { value });
    }
    Ok(to_f32(value))
}

/// Returns the factor of gradients that undoes `scale`: the reciprocal in `f64`, rounded once.
pub(super) fn reciprocal(scale: f32) -> f32 {
    to_f32(1.0 / f64::from(scale))
}
