//! Rules at one address, a row for each parameter: what a captured step reads, and `set_plan` writes to between replays.

use super::Masters;
use crate::{Cuda, Error, launch::structs::RuleBits, memory::Buffer};
use bytemuck::Zeroable;
use std::sync::{Arc, atomic::Ordering};

/// A row for each parameter, by its number: whatever plan comes, each finds its rule where it was.
#[derive(Debug)]
pub(super) struct Fixed {
    pub(super) buffer: Arc<Buffer>,
    bytes: Vec<u8>,
}

impl Masters {
    /// Counts a step that is asked for; one that is captured is counted when it is replayed.
    pub(super) fn count(&self, cuda: &Cuda) {
        let recorder = &cuda.inner.pool.recorder;
        if recorder.running() == Some(true) {
            recorder.count(&self.attempts);
        } else {
            self.attempts.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// From the first run of a capture on, rules have one address for good.
    pub(super) fn fix(&mut self, cuda: &Cuda) -> Result<(), Error> {
        if self.rules.fixed.is_none() && cuda.inner.pool.recorder.running().is_some() {
            let buffer = cuda.lasting_of(&vec![0; size_of::<RuleBits>() * self.slots.len()])?;
            self.rules.fixed = Some(Fixed { buffer: Arc::new(buffer), bytes: Vec::new() });
        }
        self.write_fixed(cuda)
    }

    /// Puts the rules in force where captured steps read them, if there are such.
    pub(super) fn write_fixed(&mut self, cuda: &Cuda) -> Result<(), Error> {
        if self.rules.fixed.is_none() {
            return Ok(());
        }
        let rows = self.rows(cuda)?;
        let bytes: &[u8] = bytemuck::cast_slice(&rows);
        let Some(fixed) = &mut self.rules.fixed else { return Ok(()) };
        if fixed.bytes != bytes {
            cuda.put(bytes, &fixed.buffer, 0)?;
            cuda.inner.counters.table(bytes.len());
            bytes.clone_into(&mut fixed.bytes);
        }
        Ok(())
    }

    fn rows(&mut self, cuda: &Cuda) -> Result<Vec<RuleBits>, Error> {
        let Self { kept, slots, rules, attempts, .. } = self;
        let attempts = attempts.load(Ordering::Relaxed);
        let mut rows = vec![RuleBits::zeroed(); slots.len()];
        for (name, slot) in slots.iter() {
            if let (Some(rule), Some(row)) = (kept.rule(name), rows.get_mut(slot.number as usize)) {
                *row = rules.row(cuda, rule, attempts)?;
            }
        }
        Ok(rows)
    }
}
