//! Tables of what depends on the count of applied steps, which the device indexes by its own count.
//!
//! A table has a row for every count that the device can have come to: more than were asked for. It is made anew at twice
//! the length when that is no longer so, and ends for good where the bias has faded: after 17,000 steps at a beta2 of
//! 0.999, which is 280 kB. The tables of all betas lie in one buffer.

use super::table::Table;
use crate::{
    Error, Wgpu,
    dispatch::{
        Bound,
        structs::{CorrectionRow, count, halves},
    },
};
use binade_master_weights::BiasCorrection;
use bytemuck::Zeroable;

/// Rows of a new table.
const FIRST: u64 = 1024;

/// The tables of the betas that have been met.
#[derive(Debug, Default)]
pub(super) struct Corrections {
    tables: Vec<Of>,
    whole: Table,
}

/// The table of two betas.
#[derive(Debug)]
struct Of {
    betas: [f64; 2],
    rows: Vec<CorrectionRow>,
    /// Whether the last row stands for all that follow.
    is_whole: bool,
}

impl Corrections {
    /// Has a table for `betas`, on a device that may come to apply its step number `attempts`. Where it lies
    /// [`place`](Self::place) says, once all are there.
    pub(super) fn need(&mut self, betas: [f64; 2], attempts: u64) {
        match self.tables.iter_mut().find(|table| table.is_for(betas)) {
            Some(table) if table.reaches(attempts) => return,
            Some(table) => *table = Of::new(betas, attempts),
            None => self.tables.push(Of::new(betas, attempts)),
        }
        self.whole.forget();
    }

    /// The first row for `betas`, and how many there are; none of betas that nobody needs.
    pub(super) fn place(&self, betas: [f64; 2]) -> [u32; 2] {
        let mut first = 0;
        for table in &self.tables {
            if table.is_for(betas) {
                return [count(first), count(table.rows.len())];
            }
            first += table.rows.len();
        }
        [0, 0]
    }

    /// All of them on the device; a row of nothing where there is none.
    pub(super) fn bound(&mut self, wgpu: &Wgpu) -> Result<Bound, Error> {
        if let Some(known) = self.whole.bound() {
            return Ok(known);
        }
        let mut rows = Vec::new();
        self.tables.iter().for_each(|table| rows.extend_from_slice(&table.rows));
        if rows.is_empty() {
            rows.push(CorrectionRow::zeroed());
        }
        self.whole.of(wgpu, &rows)
    }
}

impl Of {
    fn new(betas: [f64; 2], attempts: u64) -> Self {
        let mut table = Self { betas, rows: Vec::new(), is_whole: false };
        for applied in 0..(2 * attempts).max(FIRST) {
            let correction = BiasCorrection::at(betas, applied);
            let root = correction.root.to_bits();
            table.rows.push(CorrectionRow {
                bias: halves(correction.bias.to_bits()),
                root,
                pad: 0,
            });
            table.is_whole = correction.is_last();
            if table.is_whole {
                break;
            }
        }
        table
    }

    fn is_for(&self, betas: [f64; 2]) -> bool {
        self.betas.map(f64::to_bits) == betas.map(f64::to_bits)
    }

    /// Whether every step up to number `attempts` finds its row.
    fn reaches(&self, attempts: u64) -> bool {
        self.is_whole || attempts <= self.rows.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_lie_behind_each_other_and_grow_with_the_steps_that_were_asked_for() {
        let [slow, fast] = [[0.9, 0.999], [0.5, 0.5]];
        let mut all = Corrections::default();
        all.need(slow, 1);
        all.need(fast, 1);
        let [_, short] = all.place(fast);
        assert_eq!(all.place(slow), [0, 1024]);
        assert_eq!(all.place(fast)[0], 1024);
        assert!(short < 60, "the bias has faded");
        all.need(slow, 1024);
        assert_eq!(all.place(slow), [0, 1024]);
        all.need(slow, 1025);
        assert_eq!((all.place(slow), all.place(fast)), ([0, 2050], [2050, short]));
        assert_eq!(all.place([0.1, 0.2]), [0, 0]);
    }

    #[test]
    fn rows_are_the_hosts_corrections() {
        let mut all = Corrections::default();
        all.need([0.9, 0.95], 1);
        for (applied, row) in (0..).zip(&all.tables[0].rows) {
            let want = BiasCorrection::at([0.9, 0.95], applied);
            let bias = u64::from(row.bias[0]) | u64::from(row.bias[1]) << 32;
            assert_eq!((bias, row.root), (want.bias.to_bits(), want.root.to_bits()));
        }
    }
}
