//! Configuration of a scaler.

use super::ProtocolError;

/// Configuration that a [`ProtocolScaler`](super::ProtocolScaler) starts from; the default is torch's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProtocolConfig {
    /// First scale: any value, rounded to `f32` at the first use.
    pub init_scale: f64,
    /// Factor of the scale after [`growth_interval`](Self::growth_interval) good updates in a row.
    pub growth_factor: f64,
    /// Factor of the scale after an overflow.
    pub backoff_factor: f64,
    /// Good updates before the scale grows. The test is equality, so that 0 and below never grow.
    pub growth_interval: i64,
}

impl Default for ProtocolConfig {
    fn default() -> Self {
        Self { init_scale: 65536.0, growth_factor: 2.0, backoff_factor: 0.5, growth_interval: 2000 }
    }
}

impl ProtocolConfig {
    /// Checks the factors as torch's constructor does: NaN passes both tests, as does a negative backoff.
    ///
    /// # Errors
    ///
    /// If the growth factor is 1 or below, or the backoff factor 1 or above.
    pub fn validate(&self) -> Result<(), ProtocolError> {
        if self.growth_factor <= 1.0 {
            return Err(ProtocolError::GrowthFactor { value: self.growth_factor });
        }
        if self.backoff_factor >= 1.0 {
            return Err(ProtocolError::BackoffFactor { value: self.backoff_factor });
        }
        Ok(())
    }
}
