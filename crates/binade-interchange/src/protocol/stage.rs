//! Stage of each optimizer between two updates.

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
    /// Every gradient was finite: the caller takes the step.
    Apply,
    /// A gradient was not finite: the caller leaves parameters, moments and step count unchanged.
    Skip,
}

impl Verdict {
    /// Returns the verdict for a flag: any value except zero skips, including NaN and the sum of two devices' flags.
    pub(super) fn of(found: f32) -> Self {
        if found == 0.0 { Self::Apply } else { Self::Skip }
    }
}

/// Progress of one optimizer since the last update.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) stage: Stage,
    /// Flag of the gradients; `None` until they are checked, and also if there were none to check.
    pub(super) found: Option<f32>,
}

impl Progress {
    /// Returns an error unless `unscale` is the first call since the last update.
    pub(super) fn may_unscale(&self, optimizer: u64) -> Result<(), ProtocolError> {
        match self.stage {
            Stage::Ready => Ok(()),
            Stage::Unscaled => Err(ProtocolError::AlreadyUnscaled { optimizer }),
            Stage::Stepped => Err(ProtocolError::UnscaledAfterStep { optimizer }),
        }
    }

    /// Returns an error for a second `step` since the last update.
    pub(super) fn may_step(&self, optimizer: u64) -> Result<(), ProtocolError> {
        match self.stage {
            Stage::Ready | Stage::Unscaled => Ok(()),
            Stage::Stepped => Err(ProtocolError::AlreadyStepped { optimizer }),
        }
    }
}
