//! How the scale moves: a rule that is data, and one pure function that every device repeats.

mod error;
mod log_max;
mod next;
mod presets;
#[cfg(test)]
mod tests;
mod tolerance;

pub use error::LossScaleError;
pub use log_max::{Averages, LogMax};
pub use next::Seen;
pub use tolerance::Tolerance;

use crate::ScaleState;
use crate::scale_state::MAX_EXPONENT;

/// How the scale moves.
///
/// Data rather than a trait: a kernel can take it as an argument, a checkpoint can hold it, and a captured graph can
/// replay it. A rule that it cannot express resolves each outcome and calls
/// [`Scaler::set_state`](crate::Scaler::set_state).
///
/// # Contract
///
/// * [`next`](Self::next) is pure, and every device agrees with it bit for bit.
/// * Whatever happens, the exponent that a rule moves to is within `min..=max` and ±126, and so the scale is never 0,
///   infinite or NaN.
/// * An overflow that [`tolerance`](Self::tolerance) lets pass skips its step, counts no good steps on, and leaves the
///   scale.
/// * An overflow at the lowest scale, or `patience` skips in a row, is divergence and not another halving.
/// * With [`log_max`](Self::log_max) the scale is what that predicts, at every update; growth and backoff move nothing.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LossScale {
    /// The first scale is `2^init`.
    pub init: i32,
    /// Binades to gain after `growth_interval` good steps; 0 for never.
    pub growth: i32,
    /// Binades to lose at an overflow; 0 for never.
    pub backoff: i32,
    /// Good steps between growths. Lowering it below the steps already counted grows at the next good step.
    pub growth_interval: u32,
    /// The lowest exponent.
    pub min: i32,
    /// The highest exponent.
    pub max: i32,
    /// Skips in a row after which the run has diverged.
    pub patience: u32,
    /// Which overflows back off.
    #[cfg_attr(feature = "serde", serde(default))]
    pub tolerance: Tolerance,
    /// Predicts the scale from the largest gradients, where there is one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub log_max: Option<LogMax>,
}

impl LossScale {
    /// From 2^16, twofold up after 2000 good steps, twofold down at each overflow; within [1, 2^24].
    ///
    /// The first four numbers are `torch.amp.GradScaler`'s defaults; the ceiling is Apex's `max_loss_scale`, the floor
    /// tf-keras's, and the patience outlasts the way from the ceiling to the floor.
    pub const fn dynamic() -> Self {
        Self {
            init: 16,
            growth: 1,
            backoff: 1,
            growth_interval: 2000,
            min: 0,
            max: 24,
            patience: 40,
            tolerance: Tolerance::None,
            log_max: None,
        }
    }

    /// Always `2^exponent`; an overflow still skips.
    pub const fn fixed(exponent: i32) -> Self {
        Self {
            init: exponent,
            growth: 0,
            backoff: 0,
            min: exponent,
            max: exponent,
            ..Self::dynamic()
        }
    }

    /// Always 1: no scaling, and an overflow still skips. For bf16 and f32.
    pub const fn none() -> Self {
        Self::fixed(0)
    }

    /// Starts at `scale`, a power of two; the limits widen to hold it.
    ///
    /// # Errors
    ///
    /// [`LossScaleError::Init`] for anything else.
    pub fn with_init_scale(self, scale: f32) -> Result<Self, LossScaleError> {
        let state = ScaleState::import(scale).filter(ScaleState::is_exact);
        let init = state.ok_or(LossScaleError::Init(scale))?.exponent;
        Ok(Self { init, min: self.min.min(init), max: self.max.max(init), ..self })
    }

    /// Grows after this many good steps.
    ///
    /// # Errors
    ///
    /// [`LossScaleError::Interval`] for 0.
    pub fn with_growth_interval(self, steps: u32) -> Result<Self, LossScaleError> {
        if steps == 0 {
            return Err(LossScaleError::Interval);
        }
        Ok(Self { growth_interval: steps, ..self })
    }

    /// Stays within `2^min..=2^max`; the first scale is brought within.
    ///
    /// # Errors
    ///
    /// [`LossScaleError::Limits`] if that is empty, or beyond 2^±126.
    pub fn with_limits(self, min: i32, max: i32) -> Result<Self, LossScaleError> {
        if min > max || min < -MAX_EXPONENT || max > MAX_EXPONENT {
            return Err(LossScaleError::Limits { min, max });
        }
        Ok(Self { min, max, init: self.init.clamp(min, max), ..self })
    }

    /// Gives up after this many skips in a row.
    #[must_use]
    pub const fn with_patience(self, skips: u32) -> Self {
        Self { patience: skips, ..self }
    }

    /// Backs off at those overflows that `tolerance` does not let pass.
    #[must_use]
    pub const fn with_tolerance(self, tolerance: Tolerance) -> Self {
        Self { tolerance, ..self }
    }

    /// Whether the scale stays where it is, whatever is seen.
    pub const fn is_fixed(&self) -> bool {
        self.growth <= 0 && self.backoff <= 0 && self.log_max.is_none()
    }

    /// The state a run starts in.
    pub fn start(&self) -> ScaleState {
        ScaleState::power_of_two(self.within(self.init.into(), &ScaleState::power_of_two(0)))
    }
}
