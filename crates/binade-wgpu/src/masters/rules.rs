//! Hyper-parameters on the device: one row for each rule that differs.

use super::{corrections::Corrections, table::Table};
use crate::{
    Error, Wgpu,
    dispatch::{
        Bound,
        structs::{RuleRow, halves},
    },
};
use binade_gpu::{RuleList, constant_words};
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
            if let UpdateRule::Adam(adam) = rule {
                self.corrections.need(adam.betas, attempts);
            }
        }
        let rows: Vec<_> = self.listed.rules().iter().map(|rule| self.row(rule)).collect();
        Ok([self.table.of(wgpu, &rows)?, self.corrections.bound(wgpu)?])
    }

    fn row(&self, rule: &UpdateRule) -> RuleRow {
        let [first, rows] = match rule {
            UpdateRule::Adam(adam) => self.corrections.place(adam.betas),
            _ => [0, 0],
        };
        let constants = constant_words(&StepConstants::at(rule, 0));
        RuleRow { negative_lr: halves((-rule.lr()).to_bits()), first, rows, constants, pad: 0 }
    }
}
