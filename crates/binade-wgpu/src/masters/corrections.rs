//! Tables of bias corrections, of all betas in one buffer.

use super::table::Table;
use crate::{
    Error, Wgpu,
    dispatch::{
        Bound,
        structs::{CorrectionRow, count, halves},
    },
};
use binade_gpu::BiasTable;
use binade_master_weights::BiasCorrection;
use bytemuck::Zeroable;
use std::convert::Infallible;

/// The tables of the betas that have been met.
#[derive(Debug, Default)]
pub(super) struct Corrections {
    tables: Vec<BiasTable<Vec<CorrectionRow>>>,
    whole: Table,
}

impl Corrections {
    /// Has a table for `betas`, on a device that may come to apply its step number `attempts`. Where it lies
    /// [`place`](Self::place) says, once all are there.
    pub(super) fn need(&mut self, betas: [f64; 2], attempts: u64) {
        match self.tables.iter_mut().find(|table| table.is_for(betas)) {
            Some(table) if table.reaches(attempts) => return,
            Some(table) => *table = new(betas, attempts),
            None => self.tables.push(new(betas, attempts)),
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

fn new(betas: [f64; 2], attempts: u64) -> BiasTable<Vec<CorrectionRow>> {
    let row = |BiasCorrection { bias, root }| CorrectionRow {
        bias: halves(bias.to_bits()),
        root: root.to_bits(),
        pad: 0,
    };
    let Ok(table) = BiasTable::new(betas, attempts, |rows| {
        Ok::<_, Infallible>(rows.into_iter().map(row).collect())
    });
    table
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
