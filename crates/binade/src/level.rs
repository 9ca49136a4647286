//! Apex's opt levels.

use crate::{Illegal, Properties};
use binade_core::DType;
use std::{fmt, str::FromStr};

/// Opt level: the parts of mixed precision to use, by Apex's names.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum OptLevel {
    /// `f32` throughout: the baseline for accuracy.
    O0,
    /// `f32` parameters, operations cast by policy.
    O1,
    /// Low-precision parameters but for normalisation, with `f32` masters.
    O2,
    /// Low precision throughout, with no masters and no loss scale: a baseline for speed, not for training. In f16 it asks for
    /// what all other levels refuse.
    O3,
}

impl OptLevel {
    /// All levels.
    pub const ALL: [Self; 4] = [Self::O0, Self::O1, Self::O2, Self::O3];

    /// Properties of the level with `dtype` as the low type, bf16 or f16; O0 has no use for it.
    ///
    /// Nothing is refused here: [`Properties::check`] looks at the whole, overrides included.
    pub fn with(self, dtype: DType) -> Properties {
        Properties::of(self, dtype)
    }
}

impl fmt::Display for OptLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl FromStr for OptLevel {
    type Err = Illegal;

    fn from_str(word: &str) -> Result<Self, Illegal> {
        let known = Self::ALL.into_iter().find(|level| level.to_string() == word.to_uppercase());
        known.ok_or_else(|| {
            Illegal(format!(
                "`{word}` is no opt level; take O0, O1, O2 or O3, with the letter O and not a zero"
            ))
        })
    }
}
