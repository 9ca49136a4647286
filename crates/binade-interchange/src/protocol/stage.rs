//! Stages of each optimizer between two updates.

use super::ProtocolError;

/// Stage of an optimizer, which decides the calls that are legal next.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Stage {
    /// Both `unscale` and `step` may be called.
    #[default]
    Ready,
    /// `step` may be called.
    Unscaled,
    /// No call may come before `update`.
    Stepped,
}

/// Verdict on an optimizer's step.
#[must_use = "the scaler owns no parameters: whoever asked has to apply the step or leave it"]
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Verdict {
    /// Every gradient was finite: take the step.
    Apply,
    /// A gradient was not finite: leave parameters, moments and step count alone.
    Skip,
}

impl Verdict {
    /// Returns the verdict on a flag: anything but zero skips, including NaN and the sum of two devices' flags.
    pub(super) fn of(found: f32) -> Self {
        if found == 0.0 { Self::Apply } else { Self::Skip }
    }
}

/// Progress of one optimizer since the last update.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) stage: Stage,
    /// Flag of the gradients; `None` until they were looked at, and also if there were none to look at.
    pub(super) found: Option<f32>,
}

impl Progress {
    /// Refuses `unscale` unless it is the first call since the last update.
    pub(super) fn may_unscale(&self, optimizer: u64) -> Result<(), ProtocolError> {
        match self.stage {
            Stage::Ready => Ok(()),
            Stage::Unscaled => Err(ProtocolError::AlreadyUnscaled { optimizer }),
            Stage::Stepped => Err(ProtocolError::UnscaledAfterStep { optimizer }),
        }
    }

    /// Refuses a second `step` since the last update.
    pub(super) fn may_step(&self, optimizer: u64) -> Result<(), ProtocolError> {
        match self.stage {
            Stage::Ready | Stage::Unscaled => Ok(()),
            Stage::Stepped => Err(ProtocolError::AlreadyStepped { optimizer }),
        }
    }
}
