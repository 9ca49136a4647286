//! Hyper-parameters on the device: one row for each rule that differs.

use super::rule_table::RuleTable;
use crate::{
    CaptureError, Cuda, CudaError, Error,
    kernels::PREPARE,
    launch::structs::{CorrectionRow, RuleBits},
    memory::Buffer,
};
use binade_gpu::{BiasTable, RuleList};
use binade_master_weights::{BiasCorrection, StepConstants, UpdateRule};
use std::sync::Arc;

/// Rows of the longest table of bias corrections: 32 MiB, which betas to 0.99999 find enough.
const MOST: u64 = 1 << 21;

/// The rules in force, each once.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) listed: RuleList,
    /// Kept when a rule goes: it may come back with the next learning rate.
    corrections: Vec<BiasTable<Buffer>>,
    /// Of masters whose step has been run for a capture.
    pub(super) fixed: Option<RuleTable>,
}

impl Rules {
    /// Returns the number of `rule` for the parameter `slot`, a new one if it has none.
    pub(super) fn number(&mut self, rule: &UpdateRule, slot: u32) -> u32 {
        if self.fixed.is_some() { slot } else { self.listed.number(rule) }
    }

    /// The table of rules for a step that is the `attempts`-th asked for.
    pub(super) fn table(&mut self, cuda: &Cuda, attempts: u64) -> Result<Arc<Buffer>, Error> {
        if let Some(fixed) = self.fixed.as_ref().and_then(|fixed| fixed.buffer.clone()) {
            return Ok(fixed);
        }
        let rules = self.listed.rules().to_vec();
        let rows = rules.iter().map(|rule| self.row(cuda, rule, attempts));
        let rows = rows.collect::<Result<Vec<_>, Error>>()?;
        cuda.table(&rows)
    }

    pub(super) fn row(
        &mut self,
        cuda: &Cuda,
        rule: &UpdateRule,
        attempts: u64,
    ) -> Result<RuleBits, Error> {
        let (corrections, correction_count) = match rule.corrected_betas() {
            Some(betas) => self.corrections(cuda, betas, attempts)?,
            None => (0, 0),
        };
        let constants = StepConstants::at(rule, 0).to_row();
        Ok(RuleBits { negative_lr: -rule.lr(), corrections, correction_count, constants, pad: 0 })
    }

    fn corrections(
        &mut self,
        cuda: &Cuda,
        betas: [f64; 2],
        attempts: u64,
    ) -> Result<(u64, u64), Error> {
        let known = self.corrections.iter().find(|table| table.is_for(betas));
        let fits = |table: &&BiasTable<Buffer>| {
            table.is_whole || self.fixed.is_none() && table.reaches(attempts)
        };
        if let Some(table) = known.filter(fits) {
            return Ok((table.rows.address(), table.count));
        }
        let table = match self.fixed {
            Some(_) => whole(cuda, betas)?,
            None => BiasTable::new(betas, attempts, |rows| upload(cuda, &rows))?,
        };
        let place = (table.rows.address(), table.count);
        // The old one may be read by steps that are under way; whoever gets its memory is behind them.
        self.corrections.retain(|table| !table.is_for(betas));
        self.corrections.push(table);
        Ok(place)
    }
}

/// Returns a table to where the bias has faded: for a step whose count the host does not know when it replays it.
fn whole(cuda: &Cuda, betas: [f64; 2]) -> Result<BiasTable<Buffer>, Error> {
    let table = BiasTable::of_rows(betas, MOST, |rows| upload(cuda, &rows))?;
    if table.is_whole {
        return Ok(table);
    }
    let why = CaptureError::Bias { betas: format!("{betas:?}"), most: MOST };
    Err(Error::Driver(CudaError::Capture { operation: PREPARE.name, why }))
}

fn upload(cuda: &Cuda, rows: &[BiasCorrection]) -> Result<Buffer, Error> {
    let row = |&BiasCorrection { bias, root }: &_| CorrectionRow { bias, root, pad: 0 };
    cuda.lasting_of(bytemuck::cast_slice(&rows.iter().map(row).collect::<Vec<_>>()))
}
