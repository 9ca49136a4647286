//! Notes of a replay that passed: what it did not compare, or found different on purpose, said out loud, with how often.

use super::differences::Difference;
use std::collections::BTreeMap;
use std::fmt;

/// Counts of what a replay checked, left out, and found different on purpose.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Notes {
    /// Comparisons that passed, by what was compared.
    pub compared: BTreeMap<String, usize>,
    /// Deliberate differences.
    pub differences: BTreeMap<Difference, usize>,
    /// Features that we do not offer, and so cannot compare.
    pub skipped: BTreeMap<String, usize>,
}

impl Notes {
    pub(super) fn compared(&mut self, what: impl Into<String>, how_many: usize) {
        *self.compared.entry(what.into()).or_default() += how_many;
    }

    pub(super) fn differs(&mut self, how: Difference) {
        *self.differences.entry(how).or_default() += 1;
    }

    pub(super) fn skipped(&mut self, what: impl Into<String>, how_many: usize) {
        if how_many > 0 {
            *self.skipped.entry(what.into()).or_default() += how_many;
        }
    }
}

impl fmt::Display for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.compared {
            writeln!(f, "  {count} {what}")?;
        }
        for (how, count) in &self.differences {
            let (name, reason) = how.row();
            writeln!(f, "  {count} differ on purpose, {name}: {reason}")?;
        }
        for (what, count) in &self.skipped {
            writeln!(f, "  {count} SKIPPED: {what}")?;
        }
        Ok(())
    }
}
