//! Tolerance for overflows: the condition under which an overflow backs the scale off.

use super::LossScaleError;
use crate::ScaleState;

/// Bit of a step down of the scale.
pub(super) const BACKOFF: u32 = 1;
/// Bit of a good step.
pub(super) const GOOD_STEP: u32 = 2;
/// Bit of a growth.
pub(super) const GROWTH: u32 = 4;
/// Bit of a share of the updates, in the place of a number of overflows.
const SHARE: u32 = 8;

/// Condition under which an overflow lowers the scale. A tolerated overflow still skips its step.
///
/// `overflows` of 0 is as 1: every overflow backs off. These are all there are: a device has each of them, or does not
/// compile.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Tolerance {
    /// Each overflow backs off, as in torch, Keras, jmp and Apex's `LossScaler`.
    #[default]
    None,
    /// Each overflow backs off, from the `overflows`-th since the last good step on: the hysteresis of Apex's `update_scale_hysteresis` kernel, and
    /// of DeepSpeed with `consecutive_hysteresis`.
    UntilGoodStep {
        /// Overflows until the scale moves.
        overflows: u32,
    },
    /// Each overflow backs off, from the `overflows`-th since the scale last grew on: DeepSpeed's `hysteresis`.
    UntilGrowth {
        /// Overflows until the scale moves.
        overflows: u32,
    },
    /// Each `overflows`-th consecutive overflow backs off: Paddle's `decr_every_n_nan_or_inf`.
    InARow {
        /// Overflows until the scale moves.
        overflows: u32,
    },
    /// Each `overflows`-th overflow since the scale last changed backs off, consecutive or not: `decr_every_n_nan_or_inf` of TensorFlow 1's
    /// `ExponentialUpdateLossScaleManager` (`contrib/mixed_precision/python/loss_scale_manager.py`).
    SinceMove {
        /// Overflows until the scale moves.
        overflows: u32,
    },
    /// Backs off if overflows since the last decrease are at least this share of the updates since the scale last changed: fairseq's `tolerance`. A
    /// growth restarts the count of updates, but not that of overflows.
    Share {
        /// Share in 65536ths, so that a kernel compares the same integers.
        of_65536: u32,
    },
}

impl Tolerance {
    /// Creates a [`Share`](Self::Share), rounded down to 65536ths, so that exactly this share of overflows backs off even if the share is not a
    /// multiple of 1/65536: 1 of 10 is 0.1.
    ///
    /// # Errors
    ///
    /// [`LossScaleError::Share`] for a number outside `0..=1`.
    pub fn share(share: f64) -> Result<Self, LossScaleError> {
        if !(0.0..=1.0).contains(&share) {
            return Err(LossScaleError::Share(share));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within 0..=65536"
        )]
        let of_65536 = (share * 65536.0).floor() as u32;
        Ok(Self::Share { of_65536 })
    }

    /// Returns the rule as numbers, for kernels: the events that reset the count of overflows, and the rule's parameter.
    ///
    /// The first is a sum of bits: 1 for a backoff, 2 for a good step, 4 for a growth that was due, whether or not the scale was at
    /// its ceiling. Without 1 the count stays spent until it is refilled. With 8, the second is a share of the updates since
    /// the scale moved, in 65536ths; else a number of overflows.
    pub const fn numbers(self) -> (u32, u32) {
        match self {
            Self::None => (BACKOFF | GOOD_STEP | GROWTH, 0),
            Self::UntilGoodStep { overflows } => (GOOD_STEP | GROWTH, overflows),
            Self::UntilGrowth { overflows } => (GROWTH, overflows),
            Self::InARow { overflows } => (BACKOFF | GOOD_STEP | GROWTH, overflows),
            Self::SinceMove { overflows } => (BACKOFF | GROWTH, overflows),
            Self::Share { of_65536 } => (BACKOFF | SHARE, of_65536),
        }
    }

    /// Returns true if the overflow that `now` has counted last is one too many.
    pub(super) fn is_spent(self, now: &ScaleState) -> bool {
        match self.numbers() {
            (bits, of_65536) if bits & SHARE != 0 => {
                u64::from(now.tolerated) << 16 >= u64::from(of_65536) * u64::from(now.since_move)
            }
            (_, overflows) => now.tolerated >= overflows,
        }
    }

    /// Returns the overflows still counted after an event, one of the bits of [`numbers`](Self::numbers).
    pub(super) fn after(self, event: u32, counted: u32) -> u32 {
        if self.numbers().0 & event == 0 { counted } else { 0 }
    }
}
