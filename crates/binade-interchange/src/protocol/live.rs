//! The scale and its tracker, and how an update changes them.

use super::{ProtocolConfig, ProtocolError, round};

/// What `update(new_scale)` may be given in a dynamically typed language.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NewScale {
    /// A number; finite ones outside `f32` are refused.
    Float(f64),
    /// The element of a one-element `f32` tensor.
    Tensor(f32),
    /// An integer, which torch refuses.
    Int(i64),
}

impl NewScale {
    pub(super) fn stored(self) -> Result<f32, ProtocolError> {
        match self {
            Self::Float(value) => round::stored(value),
            Self::Tensor(value) => Ok(value),
            Self::Int(value) => Err(ProtocolError::IntegerScale { value }),
        }
    }
}

/// The device state: set up by the first `scale`, as torch does on the device of the first loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    pub(super) scale: f32,
    pub(super) tracker: i64,
}

impl Live {
    /// The state to start from.
    pub(super) fn new(scale: f64, tracker: i64) -> Result<Self, ProtocolError> {
        Ok(Self { scale: round::stored(scale)?, tracker })
    }

    /// `_amp_update_scale_`: factors are `f64`, products are rounded once, growth never leaves the finite numbers but
    /// resets the tracker all the same, and the interval is compared by equality.
    pub(super) fn next(self, config: &ProtocolConfig, overflowed: bool) -> Self {
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
        round::to_f32(f64::from(self.scale) * factor)
    }
}
