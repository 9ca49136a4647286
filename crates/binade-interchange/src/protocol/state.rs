//! Configuration and state, which torch saves together.

use super::ProtocolError;

/// Factors, interval and scale of a scaler, serialised under torch's names. A new scaler starts from this state; the default is torch's.
///
/// It does not include stages and verdicts: take it after `update`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct StateDict {
    /// Scale, or the initial scale before the first use. Any value is allowed; it is rounded to `f32` at the first use.
    pub scale: f64,
    /// Factor of the scale after [`growth_interval`](Self::growth_interval) good updates in a row.
    pub growth_factor: f64,
    /// Factor of the scale after an overflow.
    pub backoff_factor: f64,
    /// Good updates before the scale grows. The comparison is by equality, so with 0 or less the scale never grows.
    pub growth_interval: i64,
    /// Good updates since the scale last changed.
    #[cfg_attr(feature = "serde", serde(rename = "_growth_tracker"))]
    pub growth_tracker: i64,
}

impl Default for StateDict {
    fn default() -> Self {
        Self {
            scale: 65536.0,
            growth_factor: 2.0,
            backoff_factor: 0.5,
            growth_interval: 2000,
            growth_tracker: 0,
        }
    }
}

impl StateDict {
    /// Checks the factors as torch's constructor does: NaN passes both checks, and so does a negative backoff factor.
    pub(super) fn check(&self) -> Result<(), ProtocolError> {
        if self.growth_factor <= 1.0 {
            return Err(ProtocolError::GrowthFactor { value: self.growth_factor });
        }
        if self.backoff_factor >= 1.0 {
            return Err(ProtocolError::BackoffFactor { value: self.backoff_factor });
        }
        Ok(())
    }
}
