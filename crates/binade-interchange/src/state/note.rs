//! Differences that an import or an export leaves.

use std::fmt;

/// Difference between the state here and on the other side.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// A scale that is no power of two: kept, and scaling by it is not exact.
    Significand {
        /// Key that it was saved under.
        key: String,
        /// Scale.
        scale: f32,
    },
    /// A scale that is no `f32`: the nearest one is taken, as the library takes it when it first scales.
    Rounded {
        /// Key that it was saved under.
        key: String,
        /// Scale as it was saved.
        saved: f64,
        /// Scale here.
        scale: f32,
    },
    /// An interval of zero or less. The libraries compare for equality, so that it never comes; here the rule does not
    /// grow.
    NeverGrows {
        /// Key that it was saved under.
        key: String,
        /// Interval.
        interval: i64,
    },
    /// Good steps that are as many as the interval, or more. The library goes past it until the next overflow; here the scale
    /// grows at the next good step.
    GrowthOverdue {
        /// Key that they were saved under.
        key: String,
        /// Good steps so far.
        good_steps: i64,
        /// Interval.
        interval: u32,
    },
    /// A scale outside the limits of the rule given: they were widened to hold it.
    LimitsWidened {
        /// Exponent of the scale.
        exponent: i32,
    },
    /// A value that has no place on the other side.
    LeftAside {
        /// Key of the value, or its field's name here.
        key: String,
        /// Consequence of leaving it aside.
        why: &'static str,
    },
    /// Limits that the library does not have, or does not save: it goes beyond them.
    LimitsNotSaved {
        /// Lowest exponent here.
        min: i32,
        /// Highest exponent here.
        max: i32,
    },
    /// The run has diverged: the library does not know that, and goes on.
    Diverged,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Significand { key, scale } => {
                write!(f, "`{key}` is {scale:?}, no power of two: kept, and scaling is not exact")
            }
            Self::Rounded { key, saved, scale } => {
                write!(f, "`{key}` is {saved:?}, which as f32 is {scale:?}")
            }
            Self::NeverGrows { key, interval } => {
                write!(
                    f,
                    "`{key}` is {interval}, which no count of steps meets: the scale never grows"
                )
            }
            Self::GrowthOverdue { key, good_steps, interval } => write!(
                f,
                "`{key}` is {good_steps}, not below the interval of {interval}: here the scale grows at the next good step"
            ),
            Self::LimitsWidened { exponent } => {
                write!(f, "the rule's limits were widened to the scale's 2^{exponent}")
            }
            Self::LeftAside { key, why } => write!(f, "`{key}` is left aside: {why}"),
            Self::LimitsNotSaved { min, max } => {
                write!(f, "the limits 2^{min}..=2^{max} are not part of what is saved")
            }
            Self::Diverged => f.write_str("the run has diverged, and the library goes on with it"),
        }
    }
}
