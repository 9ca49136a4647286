//! Where each optimizer is between two updates.

use super::ProtocolError;
use std::fmt;

/// An optimizer, by a number of the caller's choosing.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct OptimizerId(pub u64);

impl fmt::Display for OptimizerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "optimizer {}", self.0)
    }
}

/// What may be called next for an optimizer.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Stage {
    /// `unscale` or `step`.
    #[default]
    Ready,
    /// `step`.
    Unscaled,
    /// Nothing before `update`.
    Stepped,
}

/// Whether the optimizer's step is to be taken.
#[must_use = "the scaler owns no parameters: whoever asked has to apply the step or leave it"]
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Verdict {
    /// Every gradient was finite: take the step.
    Apply,
    /// One was not: leave parameters, moments and step count alone.
    Skip,
}

impl Verdict {
    /// The verdict on a flag: anything but zero skips, NaN and what two devices' flags add up to included.
    pub fn of(found: f32) -> Self {
        if found == 0.0 { Self::Apply } else { Self::Skip }
    }
}

/// One optimizer's progress since the last update.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) stage: Stage,
    /// `None` until gradients were looked at, and still if there were none to look at.
    pub(super) found: Option<f32>,
}

impl Progress {
    /// Refuses `unscale` unless it is the first call since the last update.
    pub(super) fn may_unscale(&self, optimizer: OptimizerId) -> Result<(), ProtocolError> {
        match self.stage {
            Stage::Ready => Ok(()),
            Stage::Unscaled => Err(ProtocolError::AlreadyUnscaled { optimizer }),
            Stage::Stepped => Err(ProtocolError::UnscaledAfterStep { optimizer }),
        }
    }

    /// Refuses a second `step` since the last update.
    pub(super) fn may_step(&self, optimizer: OptimizerId) -> Result<(), ProtocolError> {
        match self.stage {
            Stage::Ready | Stage::Unscaled => Ok(()),
            Stage::Stepped => Err(ProtocolError::AlreadyStepped { optimizer }),
        }
    }
}
