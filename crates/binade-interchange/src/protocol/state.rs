//! What is saved with a checkpoint.

/// A scaler's state, under torch's names where it is serialised.
///
/// Stages and verdicts are not part of it: take it after `update`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StateDict {
    /// The scale, or the one to start from where there was none yet.
    pub scale: f64,
    /// What the scale grows by.
    pub growth_factor: f64,
    /// What the scale backs off by.
    pub backoff_factor: f64,
    /// Good updates before the scale grows.
    pub growth_interval: i64,
    /// Good updates since the scale last changed.
    #[cfg_attr(feature = "serde", serde(rename = "_growth_tracker"))]
    pub growth_tracker: i64,
}
