//! Update of the loss scale: a rule, which is data, and one pure function that every device repeats.

mod error;
mod log_max;
mod next;
mod presets;
mod state;
#[cfg(test)]
mod tests;
mod tolerance;

pub use error::LossScaleError;
pub use log_max::{Averages, LogMax};
pub use next::UpdateInputs;
use state::MAX_EXPONENT;
pub use state::ScaleState;
pub use tolerance::Tolerance;

/// Rule that updates the loss scale.
///
/// Constructors take factors (`65536.0`), which are powers of two; fields hold exponents (`16`), as their names say.
///
/// Data rather than a trait: a kernel can take it as an argument, a checkpoint can hold it, and a captured graph can
/// replay it. A rule that it cannot express resolves each outcome and calls
/// [`Scaler::set_state`](crate::Scaler::set_state).
///
/// # Contract
///
/// * [`next`](Self::next) is pure, and every device agrees with it bit for bit.
/// * Whatever happens, the exponent that a rule moves to is within `min_exponent..=max_exponent` and ±126, and so the scale is never 0,
///   infinite or NaN.
/// * An overflow that [`tolerance`](Self::tolerance) lets pass skips its step, counts no good steps on, and leaves the
///   scale.
/// * An overflow at the lowest scale, or `patience` skips in a row, is divergence and not another halving.
/// * With [`log_max`](Self::log_max) the scale is what that predicts, at every update; growth and backoff move nothing.
///
/// # Examples
///
/// ```
/// use binade_grad_scaler::{LossScale, LossScaleError, Tolerance};
///
/// let rule = LossScale::dynamic().with_init_scale(1024.0)?.with_growth_interval(500)?;
/// let rule = rule.with_tolerance(Tolerance::UntilGoodStep { overflows: 2 });
/// assert_eq!(rule.start().factor(), 1024.0);
/// assert_eq!(LossScale::preset("keras")?.start().factor(), 32768.0);
/// # Ok::<(), LossScaleError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LossScale {
    /// The first scale is `2^init_exponent`.
    #[cfg_attr(feature = "serde", serde(rename = "init"))]
    pub init_exponent: i32,
    /// After `growth_interval` good steps the scale is multiplied by `2^growth_exponent`; 0 for never.
    #[cfg_attr(feature = "serde", serde(rename = "growth"))]
    pub growth_exponent: i32,
    /// At an overflow the scale is divided by `2^backoff_exponent`; 0 for never.
    #[cfg_attr(feature = "serde", serde(rename = "backoff"))]
    pub backoff_exponent: i32,
    /// Good steps between growths. Lowering it below the steps already counted grows at the next good step.
    pub growth_interval: u32,
    /// The lowest scale is `2^min_exponent`.
    #[cfg_attr(feature = "serde", serde(rename = "min"))]
    pub min_exponent: i32,
    /// The highest scale is `2^max_exponent`.
    #[cfg_attr(feature = "serde", serde(rename = "max"))]
    pub max_exponent: i32,
    /// Number of consecutive skips after which the run has diverged.
    pub patience: u32,
    /// Overflows that back off.
    #[cfg_attr(feature = "serde", serde(default))]
    pub tolerance: Tolerance,
    /// Predicts the scale from the largest gradients, where there is one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub log_max: Option<LogMax>,
}

impl LossScale {
    /// Starts at 2^16, doubles after 2000 good steps, halves at each overflow, and stays within [1, 2^24].
    ///
    /// The first four numbers are `torch.amp.GradScaler`'s defaults; the ceiling is Apex's `max_loss_scale`, the floor
    /// tf-keras's, and the patience outlasts the way from the ceiling to the floor.
    pub const fn dynamic() -> Self {
        Self {
            init_exponent: 16,
            growth_exponent: 1,
            backoff_exponent: 1,
            growth_interval: 2000,
            min_exponent: 0,
            max_exponent: 24,
            patience: 40,
            tolerance: Tolerance::None,
            log_max: None,
        }
    }

    /// Always `factor`, a power of two; an overflow still skips.
    ///
    /// # Errors
    ///
    /// [`LossScaleError::Factor`] for anything else.
    pub fn fixed(factor: f32) -> Result<Self, LossScaleError> {
        exponent(factor).map(Self::held_at)
    }

    /// Always 1: no scaling, and an overflow still skips. For bf16 and f32.
    pub const fn none() -> Self {
        Self::held_at(0)
    }

    /// Always `2^exponent`.
    const fn held_at(exponent: i32) -> Self {
        Self {
            init_exponent: exponent,
            growth_exponent: 0,
            backoff_exponent: 0,
            min_exponent: exponent,
            max_exponent: exponent,
            ..Self::dynamic()
        }
    }

    /// Starts at `factor`, a power of two; the limits widen to hold it.
    ///
    /// # Errors
    ///
    /// [`LossScaleError::Factor`] for anything else.
    pub fn with_init_scale(self, factor: f32) -> Result<Self, LossScaleError> {
        let init_exponent = exponent(factor)?;
        let min_exponent = self.min_exponent.min(init_exponent);
        let max_exponent = self.max_exponent.max(init_exponent);
        Ok(Self { init_exponent, min_exponent, max_exponent, ..self })
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

    /// Stays within the factors `min..=max`, both powers of two; the first scale is brought within.
    ///
    /// `LossScale::dynamic().with_limits(1.0 / 256.0, 16_777_216.0)?`
    ///
    /// # Errors
    ///
    /// [`LossScaleError::Factor`] for a limit that is not a power of two between 2^-126 and 2^126, and [`LossScaleError::Limits`] if the lower is
    /// above the higher.
    pub fn with_limits(self, min: f32, max: f32) -> Result<Self, LossScaleError> {
        let (min_exponent, max_exponent) = (exponent(min)?, exponent(max)?);
        if min_exponent > max_exponent {
            return Err(LossScaleError::Limits { min, max });
        }
        let init_exponent = self.init_exponent.clamp(min_exponent, max_exponent);
        Ok(Self { init_exponent, min_exponent, max_exponent, ..self })
    }

    /// Gives up after this many skips in a row.
    #[must_use]
    pub const fn with_patience(self, skips: u32) -> Self {
        Self { patience: skips, ..self }
    }

    /// Backs off only at the overflows that `tolerance` does not tolerate.
    #[must_use]
    pub const fn with_tolerance(self, tolerance: Tolerance) -> Self {
        Self { tolerance, ..self }
    }

    /// Returns true if no outcome changes the scale.
    pub const fn is_fixed(&self) -> bool {
        self.growth_exponent <= 0 && self.backoff_exponent <= 0 && self.log_max.is_none()
    }

    /// The state a run starts in.
    pub fn start(&self) -> ScaleState {
        let one = ScaleState::from_exponent(0);
        ScaleState::from_exponent(self.within(self.init_exponent.into(), &one))
    }
}

/// Returns the exponent of a power of two within the limits of a scale.
fn exponent(factor: f32) -> Result<i32, LossScaleError> {
    let state = ScaleState::import(factor).filter(ScaleState::is_exact);
    state.map(|state| state.exponent).ok_or(LossScaleError::Factor(factor))
}
