//! Numbers and names that cannot be part of a rule.

/// Error for a number or a name that no loss-scale rule can have.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LossScaleError {
    /// Number that is not a power of two within the limits of a scale.
    #[error(
        "a loss scale of {given} is not a power of two between 2^-126 and 2^126; take {power}",
        given = .0, power = remedy(*.0)
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
    /// Number that is not a share of updates.
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

/// Returns the power of two nearest to a scale, or the default's for an invalid scale.
fn remedy(scale: f32) -> String {
    if !(scale.is_finite() && scale > 0.0) {
        return "65536 (2^16)".into();
    }
    let mut exponent = 0;
    let mut power = 1.0_f32;
    // The power is doubled or halved while the next one is at least as near to the scale.
    while exponent < 126 && scale >= 1.5 * power {
        (power, exponent) = (2.0 * power, exponent + 1);
    }
    while exponent > -126 && scale < 0.75 * power {
        (power, exponent) = (0.5 * power, exponent - 1);
    }
    let power = if (0..=24).contains(&exponent) {
        format!("{power} (2^{exponent})")
    } else {
        format!("2^{exponent}")
    };
    format!("{power}, or import it with `ScaleState::import`, which is not exact")
}
