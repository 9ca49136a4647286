//! Rules of a configuration in the layout of the step's kernels, and their constants that depend on the count of applied steps.

use binade_master_weights::{Corrected, Correction, StepConstants, UpdateRule};
use bytemuck::{Pod, Zeroable};
use std::sync::Arc;

/// Rows of a new table of corrections.
const FIRST: u64 = 1024;

/// The rules in force, and their corrections in a buffer `B`.
#[derive(Debug)]
pub struct Rules<B> {
    /// The rules in force, each once.
    pub listed: Vec<UpdateRule>,
    /// Tables of the current corrections. Earlier tables are dropped, since a schedule of betas would fill the memory with them.
    tables: Vec<CorrectionTable>,
    /// All tables behind each other.
    buffer: Option<Arc<B>>,
}

/// Numbers of a rule in force, from which `prepare` makes the constants of each step.
#[derive(Clone, Copy, Debug)]
pub struct RuleNumbers {
    /// Negative learning rate.
    pub negative_lr: f64,
    /// Index of the first row of its correction, and the number of rows: none for a rule without.
    pub corrections: [usize; 2],
    /// Constants of the first step.
    pub constants: [f32; 16],
    /// 1 where the correction is [`Correction::Divisors`], 0 otherwise.
    pub has_divisors: u32,
}

/// Table of one correction, which the device indexes by its own count of applied steps.
///
/// It has a row for every count that the device can have reached. A table of twice the length replaces it before the count passes its end. The table
/// of a bias correction ends once the correction has no effect: after 17,000 steps at a beta2 of 0.999, which is 280 kB. The table of a decay has no
/// end.
#[derive(Debug)]
struct CorrectionTable {
    of: Correction,
    rows: Vec<CorrectionRow>,
    /// True if the last row stands for all that follow.
    is_whole: bool,
}

/// `Correction` of the kernels.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct CorrectionRow {
    divisor: f64,
    first: f32,
    pad: u32,
}

impl CorrectionTable {
    /// Makes a table of at most this many rows.
    fn new(of: Correction, most: u64) -> Self {
        let mut table = Self { of, rows: Vec::new(), is_whole: false };
        for applied in 0..most {
            let Corrected { divisor, first } = of.at(applied);
            table.rows.push(CorrectionRow { divisor, first, pad: 0 });
            table.is_whole = of.ends_at(applied);
            if table.is_whole {
                break;
            }
        }
        table
    }

    /// Returns true if every step up to number `attempts` finds its row.
    fn reaches(&self, attempts: u64) -> bool {
        self.is_whole || attempts <= self.rows.len() as u64
    }
}

impl<B> Default for Rules<B> {
    fn default() -> Self {
        Self { listed: Vec::new(), tables: Vec::new(), buffer: None }
    }
}

impl<B> Rules<B> {
    /// Returns the number of `rule`, a new one if it has none.
    pub fn number(&mut self, rule: &UpdateRule) -> u32 {
        let place = self.listed.iter().position(|known| known == rule).unwrap_or_else(|| {
            self.listed.push(*rule);
            self.listed.len() - 1
        });
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    /// Makes tables for the current rules, on a device that may apply up to `attempts` steps.
    pub fn need(&mut self, attempts: u64) {
        let needed: Vec<_> = self.listed.iter().filter_map(UpdateRule::correction).collect();
        self.retain(&self.listed.clone());
        for of in needed {
            if !self.has(of, |table| table.reaches(attempts)) {
                self.put(CorrectionTable::new(of, (2 * attempts).max(FIRST)));
            }
        }
    }

    /// Makes the complete table of `of`, for a device whose count the host does not know. Returns false if it needs more than `most` rows, as the
    /// table of a decay always does.
    pub fn need_whole(&mut self, of: Correction, most: u64) -> bool {
        if matches!(of, Correction::LrDecay(_)) {
            return false;
        }
        let known = self.has(of, |table| table.is_whole);
        let made = (!known).then(|| CorrectionTable::new(of, most)).filter(|table| table.is_whole);
        known || made.map(|table| self.put(table)).is_some()
    }

    /// Drops the tables that none of `rules` reads.
    pub fn retain(&mut self, rules: &[UpdateRule]) {
        let count = self.tables.len();
        let needed: Vec<_> = rules.iter().filter_map(UpdateRule::correction).collect();
        self.tables.retain(|table| needed.iter().any(|of| table.of.is_same(*of)));
        if self.tables.len() < count {
            self.buffer = None;
        }
    }

    fn has(&self, of: Correction, does: impl Fn(&CorrectionTable) -> bool) -> bool {
        self.tables.iter().any(|table| table.of.is_same(of) && does(table))
    }

    fn put(&mut self, table: CorrectionTable) {
        self.tables.retain(|known| !known.of.is_same(table.of));
        self.tables.push(table);
        self.buffer = None;
    }

    /// Returns the numbers of a rule.
    pub fn numbers_of(&self, rule: &UpdateRule) -> RuleNumbers {
        RuleNumbers {
            negative_lr: -rule.lr(),
            corrections: self.corrections_of(rule),
            constants: StepConstants::at(rule, 0).into(),
            has_divisors: matches!(rule.correction(), Some(Correction::Divisors(_))).into(),
        }
    }

    /// Returns the index of the first row for the correction of `rule`, and the number of rows: none for a rule without.
    fn corrections_of(&self, rule: &UpdateRule) -> [usize; 2] {
        let Some(of) = rule.correction() else { return [0; 2] };
        let is_other = |table: &&CorrectionTable| !table.of.is_same(of);
        let first = self.tables.iter().take_while(is_other).map(|table| table.rows.len()).sum();
        let table = self.tables.iter().find(|table| table.of.is_same(of));
        [first, table.map_or(0, |table| table.rows.len())]
    }

    /// Returns all tables on the device, where `upload` has put them; one row of zeros if there are none.
    ///
    /// # Errors
    ///
    /// As for `upload`.
    pub fn corrections<E>(
        &mut self,
        upload: impl FnOnce(&[u8]) -> Result<B, E>,
    ) -> Result<&Arc<B>, E> {
        let buffer = match self.buffer.take() {
            Some(buffer) => buffer,
            None => Arc::new(upload(bytemuck::cast_slice(&self.rows()))?),
        };
        Ok(self.buffer.insert(buffer))
    }

    fn rows(&self) -> Vec<CorrectionRow> {
        match self.tables.iter().flat_map(|table| &table.rows).copied().collect::<Vec<_>>() {
            rows if rows.is_empty() => vec![CorrectionRow::zeroed()],
            rows => rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use binade_master_weights::Adam;
    use std::convert::Infallible;

    fn adam(betas: [f64; 2]) -> UpdateRule {
        let (lr, eps, weight_decay) = (1e-3, 1e-8, 0.0);
        UpdateRule::Adam(Adam {
            lr,
            betas,
            eps,
            weight_decay,
            decoupled: false,
            amsgrad: false,
            sparse: false,
        })
    }

    #[test]
    fn tables_lie_behind_each_other_and_grow_with_the_steps_that_were_asked_for() {
        let [slow, fast] = [[0.9, 0.999], [0.5, 0.5]].map(adam);
        let mut all = Rules::<Vec<u8>>::default();
        assert_eq!([slow, fast, slow].map(|rule| all.number(&rule)), [0, 1, 0]);
        all.need(1);
        let [_, short] = all.corrections_of(&fast);
        assert!(short < 60, "the bias has faded");
        let of = |all: &Rules<_>| [slow, fast].map(|rule| all.corrections_of(&rule));
        assert_eq!(of(&all), [[0, 1024], [1024, short]]);
        all.need(1024);
        assert_eq!(of(&all), [[0, 1024], [1024, short]]);
        all.need(1025);
        assert_eq!(of(&all), [[short, 2050], [0, short]]);
        all.listed.retain(|rule| *rule == slow);
        all.need(1025);
        assert_eq!(of(&all), [[0, 2050], [2050, 0]], "tables of corrections that went are dropped");
        assert!(
            [4000, 40_000].map(|most| all.need_whole(Correction::Bias([0.9, 0.999]), most))
                == [false, true]
        );
        assert_eq!(all.corrections_of(&adam([0.1, 0.2]))[1], 0);
    }

    #[test]
    fn no_row_is_made_for_a_decay_that_should_end() {
        // To make this many rows, one would run out of memory.
        assert!(!Rules::<Vec<u8>>::default().need_whole(Correction::LrDecay(0.5), u64::MAX));
    }

    #[test]
    fn rows_are_the_hosts_corrections_and_uploaded_once() {
        let mut all = Rules::default();
        all.number(&adam([0.9, 0.95]));
        all.need(1);
        let mut uploads = 0;
        let mut upload = |bytes: &[u8]| {
            uploads += 1;
            Ok::<_, Infallible>(bytes.to_vec())
        };
        let Ok(rows) = all.corrections(&mut upload).cloned();
        let Ok(again) = all.corrections(&mut upload);
        assert!(Arc::ptr_eq(again, &rows));
        for (applied, row) in (0..).zip(rows.as_chunks::<16>().0) {
            let CorrectionRow { divisor, first, .. } = bytemuck::pod_read_unaligned(row);
            assert_eq!(Corrected { divisor, first }, Correction::Bias([0.9, 0.95]).at(applied));
        }
        assert_eq!(uploads, 1);
    }
}
