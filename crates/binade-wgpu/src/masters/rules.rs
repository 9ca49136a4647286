//! Hyper-parameters on the device: one row for each rule that differs.

use super::{corrections::Corrections, table::Table};
use crate::{
    Error, Wgpu,
    dispatch::{
        Bound,
        structs::{RuleRow, count, halves},
    },
};
use binade_master_weights::{MasterStore, Plan, StepConstants, UpdateRule};

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
        let constants = words(&StepConstants::at(rule, 0));
        RuleRow { negative_lr: halves((-rule.lr()).to_bits()), first, rows, constants, pad: 0 }
    }
}

/// Refuses a plan that no shader steps by.
pub(super) fn has_shaders(plan: &Plan) -> Result<(), Error> {
    let rules = plan.groups().iter().map(|group| &group.rule);
    rules.chain([plan.rule()]).try_for_each(steppable)
}

/// The error for a store that no shader has.
pub(super) fn storeless(store: MasterStore) -> Error {
    Error::Store { what: format!("`MasterStore::{store:?}`") }
}

fn steppable(rule: &UpdateRule) -> Result<(), Error> {
    match rule {
        UpdateRule::Sgd(_) | UpdateRule::Adam(_) => Ok(()),
        other => Err(unsteppable(other)),
    }
}

/// The error for a rule that no shader steps by.
pub(super) fn unsteppable(rule: &UpdateRule) -> Error {
    Error::Rule { rule: format!("{rule:?}") }
}

/// A row of constants, with nothing behind those that are shorter.
fn words(constants: &StepConstants) -> [u32; 9] {
    let mut words = [0; 9];
    let row: &[f32] = match constants {
        StepConstants::Sgd(sgd) => &sgd.to_row(),
        StepConstants::Adam(adam) => &adam.to_row(),
    };
    words.iter_mut().zip(row).for_each(|(word, value)| *word = value.to_bits());
    words
}
