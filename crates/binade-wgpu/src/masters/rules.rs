//! Hyper-parameters on the device: one row for each rule that differs.

use super::{corrections::Corrections, table::Table};
use crate::{
    Error, Wgpu,
    dispatch::{
        Bound,
        structs::{RuleRow, halves},
    },
};
use binade_gpu::RuleList;
use binade_master_weights::{StepConstants, UpdateRule};

/// The rules in force, each once.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) listed: RuleList,
    table: Table,
    /// Kept when a rule goes: it may come back with the next learning rate.
    corrections: Corrections,
}

impl Rules {
    /// The tables of rules and of corrections for a step that is the `attempts`-th asked for.
    pub(super) fn tables(&mut self, wgpu: &Wgpu, attempts: u64) -> Result<[Bound; 2], Error> {
        for rule in self.listed.rules() {
            if let Some(betas) = rule.corrected_betas() {
                self.corrections.need(betas, attempts);
            }
        }
        let rows: Vec<_> = self.listed.rules().iter().map(|rule| self.row(rule)).collect();
        Ok([self.table.of(wgpu, &rows)?, self.corrections.bound(wgpu)?])
    }

    fn row(&self, rule: &UpdateRule) -> RuleRow {
        let [first, rows] =
            rule.corrected_betas().map_or([0; 2], |betas| self.corrections.place(betas));
        let constants = StepConstants::at(rule, 0).to_row();
        RuleRow { negative_lr: halves((-rule.lr()).to_bits()), first, rows, constants, pad: 0 }
    }
}
