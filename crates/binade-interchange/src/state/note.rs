//! What an import or an export did not keep quite as it was.

use std::fmt;

/// Something that is not quite as it was on the other side.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// A scale that is no power of two: kept, and scaling by it is not exact.
    Significand {
        /// Where it was saved.
        key: String,
        /// The scale.
        scale: f32,
    },
    /// A scale that is no `f32`: the nearest one is taken, as the library takes it when it first scales.
    Rounded {
        /// Where it was saved.
        key: String,
        /// The scale as it was saved.
        saved: f64,
        /// What it is here.
        scale: f32,
    },
    /// An interval of zero or less. The libraries compare for equality, so that it never comes; here the rule does not
    /// grow.
    NeverGrows {
        /// Where it was saved.
        key: String,
        /// The interval.
        interval: i64,
    },
    /// As many good steps as the interval, or more. The library goes past it until the next overflow; here the scale grows
    /// at the next good step.
    GrowthOverdue {
        /// Where it was saved.
        key: String,
        /// Good steps so far.
        good_steps: i64,
        /// The interval.
        interval: u32,
    },
    /// A scale outside the limits of the rule given: they were widened to hold it.
    LimitsWidened {
        /// The scale's exponent.
        exponent: i32,
    },
    /// A value that has no place on the other side.
    LeftAside {
        /// Its key, or its field's name here.
        key: String,
        /// What follows from that.
        why: &'static str,
    },
    /// Limits that the library does not have, or does not save: it goes beyond them.
    LimitsNotSaved {
        /// The lowest exponent here.
        min: i32,
        /// The highest exponent here.
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
