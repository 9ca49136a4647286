//! Numbers and names that cannot be part of a rule.

/// A number or a name that cannot be part of a rule.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LossScaleError {
    /// Not a power of two in reach.
    #[error(
        "a loss scale of {0} is not a power of two between 2^-126 and 2^126; take 65536 (2^16), or import it with \
         `ScaleState::import`, which is not exact"
    )]
    Factor(f32),
    /// An interval of zero.
    #[error(
        "a growth interval of 0 would grow the scale at every step; take 1 or more (torch's default is 2000)"
    )]
    Interval,
    /// A floor above the ceiling.
    #[error("no scale is within the limits {min} to {max}; give the lower first")]
    Limits {
        /// The floor given.
        min: f32,
        /// The ceiling given.
        max: f32,
    },
    /// No share of updates.
    #[error(
        "a tolerance of {0} is no share of the updates; take 0 (every overflow backs off) to 1"
    )]
    Share(f64),
    /// No preset of this name.
    #[error("no loss-scale rule is called `{name}`; there are {known}")]
    Preset {
        /// Name that was given.
        name: String,
        /// All there are.
        known: String,
    },
}
