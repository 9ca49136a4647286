//! State that is saved with a checkpoint.

/// State of a scaler, serialised under torch's names.
///
/// Stages and verdicts are not part of it: take it after `update`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StateDict {
    /// Scale, or the one to start from if there was none yet.
    pub scale: f64,
    /// Factor by which the scale grows.
    pub growth_factor: f64,
    /// Factor by which the scale backs off.
    pub backoff_factor: f64,
    /// Good updates before the scale grows.
    pub growth_interval: i64,
    /// Good updates since the scale last changed.
    #[cfg_attr(feature = "serde", serde(rename = "_growth_tracker"))]
    pub growth_tracker: i64,
}
