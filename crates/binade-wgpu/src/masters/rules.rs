//! Hyper-parameters on the device: one row for each rule that differs.

use super::{corrections::Corrections, table::Table};
use crate::{
    Error, Wgpu,
    dispatch::{
        Bound,
        structs::{RuleRow, count, halves},
    },
};
use binade_gpu::constant_words;
use binade_master_weights::{StepConstants, UpdateRule};

/// The rules in force, each once.
#[derive(Debug, Default)]
pub(super) struct Rules {
    listed: Vec<UpdateRule>,
    table: Table,
    /// Kept when a rule goes: it may come back with the next learning rate.
    corrections: Corrections,
}

impl Rules {
    /// Forgets the rules, and keeps the tables that others will need.
    pub(super) fn clear(&mut self) {
        self.listed.clear();
    }

    /// The number of `rule`, a new one if it has none.
    pub(super) fn number(&mut self, rule: &UpdateRule) -> u32 {
        let place = self.listed.iter().position(|known| known == rule).unwrap_or_else(|| {
            self.listed.push(*rule);
            self.listed.len() - 1
        });
        count(place)
    }

    /// The tables of rules and of corrections for a step that is the `attempts`-th asked for.
    pub(super) fn tables(&mut self, wgpu: &Wgpu, attempts: u64) -> Result<[Bound; 2], Error> {
        for rule in &self.listed {
            if let UpdateRule::Adam(adam) = rule {
                self.corrections.need(adam.betas, attempts);
            }
        }
        let rows: Vec<_> = self.listed.iter().map(|rule| self.row(rule)).collect();
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
