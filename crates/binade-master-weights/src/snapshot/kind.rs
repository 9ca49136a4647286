//! What a kept tensor is, and what a file calls it.

use std::{fmt, str::FromStr};

/// What a tensor that is kept for a parameter is. Open: stores keep different things.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// The `f32` copy of a low-precision parameter.
    Master,
    /// A moment, counted from 0 in the rule's order: momentum for SGD; mean, mean of squares and the largest of these for
    /// Adam.
    Moment(u8),
}

/// A word that no tensor goes by.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{0}` is kept for a parameter, which this version does not know; take the version that wrote it"
)]
pub struct UnknownKind(String);

const MOMENTS: [&str; 3] = ["moment0", "moment1", "moment2"];

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Master => f.pad("master"),
            Self::Moment(place) => write!(f, "moment{place}"),
        }
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, UnknownKind> {
        if word == "master" {
            return Ok(Self::Master);
        }
        let place = MOMENTS.iter().position(|moment| *moment == word);
        let place = place.and_then(|place| u8::try_from(place).ok());
        place.map(Self::Moment).ok_or_else(|| UnknownKind(word.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_as_it_is_written() {
        for kind in [Kind::Master, Kind::Moment(0), Kind::Moment(1), Kind::Moment(2)] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for word in ["moment3", "moment", "Master", ""] {
            assert_eq!(word.parse::<Kind>(), Err(UnknownKind(word.into())));
        }
    }
}
