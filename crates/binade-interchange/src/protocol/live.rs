//! State that an update changes: the scale and its growth tracker.

use super::{ProtocolError, StateDict};

/// Argument of `update(new_scale)` in a dynamically typed language.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NewScale {
    /// A number; finite ones outside `f32` are refused.
    Float(f64),
    /// Element of a one-element `f32` tensor.
    Tensor(f32),
    /// An integer, which torch refuses.
    Int(i64),
}

impl NewScale {
    pub(super) fn stored(self) -> Result<f32, ProtocolError> {
        match self {
            Self::Float(value) => stored(value),
            Self::Tensor(value) => Ok(value),
            Self::Int(value) => Err(ProtocolError::IntegerScale { value }),
        }
    }
}

/// State that the first `scale` creates; torch creates it on the device of the first loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    pub(super) scale: f32,
    pub(super) tracker: i64,
}

impl Live {
    /// Makes the initial state.
    pub(super) fn new(initial: &StateDict) -> Result<Self, ProtocolError> {
        Ok(Self { scale: stored(initial.scale)?, tracker: initial.growth_tracker })
    }

    /// Returns the state after an update, as `_amp_update_scale_` computes it. Factors are `f64` and products are rounded once. A growth that would
    /// give an infinite scale is not applied, but still resets the tracker. The interval is compared by equality.
    pub(super) fn next(self, config: &StateDict, overflowed: bool) -> Self {
        if overflowed {
            return Self { scale: self.times(config.backoff_factor), tracker: 0 };
        }
        let tracker = self.tracker.wrapping_add(1);
        if tracker != config.growth_interval {
            return Self { tracker, ..self };
        }
        let grown = self.times(config.growth_factor);
        Self { scale: if grown.is_finite() { grown } else { self.scale }, tracker: 0 }
    }

    fn times(self, factor: f64) -> f32 {
        to_f32(f64::from(self.scale) * factor)
    }
}

/// Rounds once, to nearest even. Numbers beyond the range of `f32` become infinite.
#[expect(clippy::cast_possible_truncation, reason = "rounding is the point")]
fn to_f32(value: f64) -> f32 {
    value as f32
}

/// Returns a number as it is stored in torch's `f32` scale tensor, which refuses finite values outside its range.
fn stored(value: f64) -> Result<f32, ProtocolError> {
    if value.is_finite() && value.abs() > f64::from(f32::MAX) {
        return Err(ProtocolError::OutOfRange { value });
    }
    Ok(to_f32(value))
}

/// Returns the factor of gradients that undoes `scale`: the reciprocal in `f64`, rounded once.
pub(super) fn reciprocal(scale: f32) -> f32 {
    to_f32(1.0 / f64::from(scale))
}
