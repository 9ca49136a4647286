//! Rules at one address, a row for each parameter: what a captured step reads, and `set_plan` writes to between replays.

use super::{Masters, rules::Rules};
use crate::{Cuda, Error, Uncapturable, launch::structs::RuleBits, memory::Buffer};
use binade_master_weights::{Plan, UpdateRule};
use bytemuck::Zeroable;
use std::sync::{Arc, atomic::Ordering};

/// A row for each parameter, by its number: whatever plan comes, each finds its rule where it was.
#[derive(Debug, Default)]
pub(super) struct Fixed {
    /// There from the first step on.
    pub(super) buffer: Option<Arc<Buffer>>,
    bytes: Vec<u8>,
    /// True if steps count lost updates: a captured step has the address of the counts, or none.
    counted: bool,
    /// Gone with the steps that were captured for it.
    stands: Arc<()>,
}

impl Masters {
    /// Counts a step that is asked for; one that is captured is counted when it is replayed.
    pub(super) fn count(&self, cuda: &Cuda) {
        let recorder = &cuda.inner.pool.state;
        if recorder.running() == Some(true) {
            recorder.count(&self.attempts);
        } else {
            self.attempts.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// From the first run of a capture on, rules have one address for good.
    pub(super) fn fix(&mut self, cuda: &Cuda) -> Result<(), Error> {
        let recorder = &cuda.inner.pool.state;
        let is_new = recorder.running().is_some() && self.rules.fixed.is_none();
        if is_new {
            self.rules.fixed = Some(Fixed::default());
        }
        if let Err(error) = self.write_fixed(cuda) {
            // A plan that cannot be captured still steps as ever.
            self.rules.fixed = self.rules.fixed.take().filter(|_| !is_new);
            return Err(error);
        }
        if let Some(fixed) = &self.rules.fixed {
            recorder.depend(Arc::downgrade(&fixed.stands));
        }
        Ok(())
    }

    /// Puts the rules in force where captured steps read them, if there are such.
    pub(super) fn write_fixed(&mut self, cuda: &Cuda) -> Result<(), Error> {
        let Self { kept, slots, rules, .. } = self;
        let rows = rules.by_slot(cuda, (0..slots.len()).map(|id| kept.rule(id).copied()))?;
        let counted = kept.lost_updates().is_some();
        match (&mut rules.fixed, rows) {
            (Some(fixed), Some(rows)) => fixed.write(cuda, bytemuck::cast_slice(&rows), counted),
            _ => Ok(()),
        }
    }

    /// Refuses a plan by which these cannot join, as it would be refused of those that are there.
    pub(super) fn can_join<'n>(
        &mut self,
        cuda: &Cuda,
        plan: &Plan,
        mut names: impl Iterator<Item = &'n str>,
    ) -> Result<(), Error> {
        if self.rules.fixed.is_none() {
            return Ok(());
        }
        names.try_for_each(|name| self.rules.row(cuda, plan.rule_for(name), 0).map(drop))?;
        self.can_be_told(cuda, plan)
    }

    /// Refuses a plan that captured steps cannot be told of, before anything has changed.
    pub(super) fn can_be_told(&mut self, cuda: &Cuda, plan: &Plan) -> Result<(), Error> {
        let Self { kept, slots, rules, .. } = self;
        let rule = |id| Some(*plan.rule_for(kept.name(id)?));
        let rows = rules.by_slot(cuda, (0..slots.len()).map(rule))?;
        let (Some(fixed), Some(rows)) = (&rules.fixed, rows) else { return Ok(()) };
        let bytes: &[u8] = bytemuck::cast_slice(&rows);
        if fixed.bytes == bytes {
            return Ok(());
        }
        let why = Uncapturable::Upload { bytes: bytes.len() };
        cuda.inner.pool.state.refuse("set_plan", why)
    }
}

impl Rules {
    /// A row for each slot, if captured steps read them.
    fn by_slot(
        &mut self,
        cuda: &Cuda,
        by_id: impl Iterator<Item = Option<UpdateRule>>,
    ) -> Result<Option<Vec<RuleBits>>, Error> {
        if self.fixed.is_none() {
            return Ok(None);
        }
        // Of no count of steps: tables are whole.
        let row = |rule: Option<UpdateRule>| match rule {
            Some(rule) => self.row(cuda, &rule, 0),
            None => Ok(RuleBits::zeroed()),
        };
        by_id.map(row).collect::<Result<_, _>>().map(Some)
    }
}

impl Fixed {
    fn write(&mut self, cuda: &Cuda, bytes: &[u8], counted: bool) -> Result<(), Error> {
        if self.counted != counted {
            (self.counted, self.stands) = (counted, Arc::default());
        }
        if self.bytes == bytes {
            return Ok(());
        }
        match &self.buffer {
            Some(buffer) if buffer.bytes() == bytes.len() => cuda.put(bytes, buffer, 0)?,
            _ => self.buffer = Some(Arc::new(cuda.lasting_of(bytes)?)),
        }
        cuda.inner.counters.table(bytes.len());
        bytes.clone_into(&mut self.bytes);
        Ok(())
    }
}
