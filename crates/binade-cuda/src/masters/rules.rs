//! Hyper-parameters on the device: one row for each rule that differs.

use super::{corrections::Corrections, fixed::Fixed};
use crate::{Cuda, Error, launch::structs::RuleBits, memory::Buffer};
use binade_gpu::constant_words;
use binade_master_weights::{StepConstants, UpdateRule};
use std::sync::Arc;

/// The rules in force, each once.
#[derive(Debug, Default)]
pub(super) struct Rules {
    listed: Vec<UpdateRule>,
    /// Kept when a rule goes: it may come back with the next learning rate.
    corrections: Vec<Corrections>,
    /// Of masters whose step has been run for a capture.
    pub(super) fixed: Option<Fixed>,
}

impl Rules {
    /// Forgets the rules, and keeps the tables that others will need.
    pub(super) fn clear(&mut self) {
        self.listed.clear();
    }

    /// The number of `rule`, a new one if it has none.
    pub(super) fn number(&mut self, rule: &UpdateRule, slot: u32) -> u32 {
        if self.fixed.is_some() {
            return slot;
        }
        let place = self.listed.iter().position(|known| known == rule).unwrap_or_else(|| {
            self.listed.push(*rule);
            self.listed.len() - 1
        });
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    /// The table of rules for a step that is the `attempts`-th asked for.
    pub(super) fn table(&mut self, cuda: &Cuda, attempts: u64) -> Result<Arc<Buffer>, Error> {
        if let Some(fixed) = self.fixed.as_ref().and_then(|fixed| fixed.buffer.clone()) {
            return Ok(fixed);
        }
        let rules = self.listed.clone();
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
        let (corrections, correction_count) = match rule {
            UpdateRule::Adam(adam) => self.corrections(cuda, adam.betas, attempts)?,
            _ => (0, 0),
        };
        let constants = constant_words(&StepConstants::at(rule, 0));
        Ok(RuleBits { negative_lr: -rule.lr(), corrections, correction_count, constants, pad: 0 })
    }

    fn corrections(
        &mut self,
        cuda: &Cuda,
        betas: [f64; 2],
        attempts: u64,
    ) -> Result<(u64, u64), Error> {
        let known = self.corrections.iter().position(|table| table.is_for(betas));
        if let Some(table) = known.and_then(|place| self.corrections.get(place))
            && (table.is_whole() || self.fixed.is_none() && table.reaches(attempts))
        {
            return Ok(table.place());
        }
        let table = match self.fixed {
            Some(_) => Corrections::whole(cuda, betas)?,
            None => Corrections::new(cuda, betas, attempts)?,
        };
        let place = table.place();
        // The old one may be read by steps that are under way; whoever gets its memory is behind them.
        self.corrections.retain(|table| !table.is_for(betas));
        self.corrections.push(table);
        Ok(place)
    }
}
