//! Errors for calls out of order and values out of range. Messages have torch's text first, then advice.

use binade_core::{Error, ErrorKind};

/// Error that torch would have raised.
///
/// Each message begins with torch's exact text, so that programs and people can search for it. The advice follows.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ProtocolError {
    /// Call that needs the scale, before the first `scale`.
    #[error(
        "Attempted {call} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) \
         earlier in the iteration. The scale is set up by the first call of scale(): scale a loss before {call}()"
    )]
    NeverScaled {
        /// Name of the call that was refused: `unscale_`, `step` or `update`.
        call: &'static str,
    },
    /// Second `unscale` within one iteration.
    #[error(
        "unscale_() has already been called on this optimizer since the last update(). The gradients of optimizer {optimizer} \
         would be divided by the scale twice: finish accumulating first, then unscale once"
    )]
    AlreadyUnscaled {
        /// Number of the optimizer of the gradients.
        optimizer: u64,
    },
    /// `unscale` of gradients after their step.
    #[error(
        "unscale_() is being called after step(). The step of optimizer {optimizer} has used its gradients: unscale between \
         backward and step, and call update() at the end of the iteration"
    )]
    UnscaledAfterStep {
        /// Number of the optimizer of the gradients.
        optimizer: u64,
    },
    /// Second `step` within one iteration.
    #[error(
        "step() has already been called since the last update(). Call update() once, after every optimizer's step and \
         before optimizer {optimizer} steps again"
    )]
    AlreadyStepped {
        /// Number of the optimizer that was asked to step.
        optimizer: u64,
    },
    /// Step without any checked gradient.
    #[error(
        "No inf checks were recorded for this optimizer. None of optimizer {optimizer}'s parameters has a gradient: check that \
         the loss depends on them. It stays unscaled until an update succeeds; set_scale with the present scale frees it"
    )]
    NothingChecked {
        /// Number of the optimizer that was asked to step.
        optimizer: u64,
    },
    /// Update without any checked gradient.
    #[error(
        "No inf checks were recorded prior to update. No optimizer has looked at a gradient since the last update: \
         unscale or step at least one, or set the scale with set_scale"
    )]
    NothingToUpdate,
    /// Gradients in `f16`, in which unscaling would flush small values to zero again.
    #[error(
        "Attempting to unscale FP16 gradients. Nothing was changed: keep the parameters in f32 or bf16, or widen the \
         gradients to f32 before they are unscaled"
    )]
    F16Gradients,
    /// Finite scale outside the range of `f32`.
    #[error(
        "value cannot be converted to type float without overflow. The scale is an f32, and {value:e} is outside \
         [{min:e}, {max:e}]: choose one that fits",
        min = f32::MIN,
        max = f32::MAX
    )]
    OutOfRange {
        /// Value that was refused.
        value: f64,
    },
    /// Integer where torch takes a float or a tensor.
    #[error(
        "'int' object has no attribute 'device'. A new scale is a float or a tensor: write {value}.0"
    )]
    IntegerScale {
        /// Value that was refused.
        value: i64,
    },
    /// Growth factor that does not increase the scale.
    #[error("The growth factor must be > 1.0. It is {value}: torch's default is 2")]
    GrowthFactor {
        /// Value that was refused.
        value: f64,
    },
    /// Backoff factor that does not decrease the scale.
    #[error("The backoff factor must be < 1.0. It is {value}: torch's default is 0.5")]
    BackoffFactor {
        /// Value that was refused.
        value: f64,
    },
}

impl ProtocolError {
    /// Returns the name of the Python class that torch raises, for bindings that raise it too.
    pub const fn exception(&self) -> &'static str {
        match self {
            Self::NeverScaled { .. }
            | Self::NothingChecked { .. }
            | Self::NothingToUpdate
            | Self::GrowthFactor { .. }
            | Self::BackoffFactor { .. } => "AssertionError",
            Self::AlreadyUnscaled { .. }
            | Self::UnscaledAfterStep { .. }
            | Self::AlreadyStepped { .. }
            | Self::OutOfRange { .. } => "RuntimeError",
            Self::F16Gradients => "ValueError",
            Self::IntegerScale { .. } => "AttributeError",
        }
    }
}

impl Error for ProtocolError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::F16Gradients
            | Self::OutOfRange { .. }
            | Self::IntegerScale { .. }
            | Self::GrowthFactor { .. }
            | Self::BackoffFactor { .. } => ErrorKind::InvalidArgument,
            Self::NeverScaled { .. }
            | Self::AlreadyUnscaled { .. }
            | Self::UnscaledAfterStep { .. }
            | Self::AlreadyStepped { .. }
            | Self::NothingChecked { .. }
            | Self::NothingToUpdate => ErrorKind::Other,
        }
    }
}
