//! The rules of a configuration as the step's kernels take them, and what depends on the count of applied steps.

use binade_master_weights::{BiasCorrection, UpdateRule};

/// Rows of a new table of bias corrections.
const FIRST: u64 = 1024;

/// The rules in force, each once.
#[derive(Clone, Debug, Default)]
pub struct RuleList(Vec<UpdateRule>);

impl RuleList {
    /// Forgets the rules.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the number of `rule`, a new one if it has none.
    pub fn number(&mut self, rule: &UpdateRule) -> u32 {
        let place = self.0.iter().position(|known| known == rule).unwrap_or_else(|| {
            self.0.push(*rule);
            self.0.len() - 1
        });
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    /// The rules, by number.
    pub fn rules(&self) -> &[UpdateRule] {
        &self.0
    }
}

/// A table of bias corrections, which the device indexes by its own count of applied steps.
///
/// It has a row for every count that the device can have come to: more than were asked for. It is made anew at twice the length
/// when that is no longer so, and ends for good where the bias has faded: after 17,000 steps at a beta2 of 0.999, which is
/// 280 kB.
#[derive(Debug)]
pub struct BiasTable<T> {
    betas: [f64; 2],
    /// Where the rows are.
    pub rows: T,
    /// The number of rows.
    pub count: u64,
    /// True if the last row stands for all that follow.
    pub is_whole: bool,
}

impl<T> BiasTable<T> {
    /// Makes a table for a device that may come to apply its step number `attempts`.
    ///
    /// # Errors
    ///
    /// As for `store`, which is given the rows.
    pub fn new<E>(
        betas: [f64; 2],
        attempts: u64,
        store: impl FnOnce(Vec<BiasCorrection>) -> Result<T, E>,
    ) -> Result<Self, E> {
        Self::of_rows(betas, (2 * attempts).max(FIRST), store)
    }

    /// Makes a table of at most this many rows.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn of_rows<E>(
        betas: [f64; 2],
        most: u64,
        store: impl FnOnce(Vec<BiasCorrection>) -> Result<T, E>,
    ) -> Result<Self, E> {
        let mut rows = Vec::new();
        let mut is_whole = false;
        for applied in 0..most {
            let correction = BiasCorrection::at(betas, applied);
            is_whole = correction.is_last();
            rows.push(correction);
            if is_whole {
                break;
            }
        }
        let count = rows.len() as u64;
        Ok(Self { betas, rows: store(rows)?, count, is_whole })
    }

    /// Returns true if it is for these betas.
    pub fn is_for(&self, betas: [f64; 2]) -> bool {
        self.betas.map(f64::to_bits) == betas.map(f64::to_bits)
    }

    /// Returns true if every step up to number `attempts` finds its row.
    pub fn reaches(&self, attempts: u64) -> bool {
        self.is_whole || attempts <= self.count
    }
}
