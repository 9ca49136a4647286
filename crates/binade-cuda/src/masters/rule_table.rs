//! Rules at one address, a row for each parameter: what a captured step reads, and `set_config` writes to between replays.

use super::rules::Rules;
use crate::{CaptureError, Cuda, Error, launch::structs::RuleBits, memory::Buffer};
use binade_master_weights::{HostMasters, OptimizerConfig, UpdateRule};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// A row for each parameter, by its number: whatever configuration comes, each finds its rule where it was.
#[derive(Debug, Default)]
pub(super) struct RuleTable {
    /// There from the first step on.
    pub(super) buffer: Option<Arc<Buffer>>,
    bytes: Vec<u8>,
    /// True if steps count lost updates: a captured step has the address of the counts, or none.
    counted: bool,
    /// Gone with the steps that were captured for it.
    stands: Arc<()>,
}

/// Counts a step that is asked for; one that is captured is counted when it is replayed.
pub(super) fn count(cuda: &Cuda, attempts: &Arc<AtomicU64>) {
    let recorder = &cuda.inner.pool.state;
    if recorder.running() == Some(true) {
        recorder.count(attempts);
    } else {
        attempts.fetch_add(1, Ordering::Relaxed);
    }
}

impl Rules {
    /// Gives rules one address for good, from the first run of a capture on.
    pub(super) fn fix(&mut self, cuda: &Cuda, kept: &HostMasters) -> Result<(), Error> {
        let recorder = &cuda.inner.pool.state;
        let is_new = recorder.running().is_some() && self.fixed.is_none();
        if is_new {
            self.fixed = Some(RuleTable::default());
        }
        if let Err(error) = self.write_fixed(cuda, kept) {
            // A configuration that cannot be captured still steps as ever.
            self.fixed = self.fixed.take().filter(|_| !is_new);
            return Err(error);
        }
        if let Some(fixed) = &self.fixed {
            recorder.depend(Arc::downgrade(&fixed.stands));
        }
        Ok(())
    }

    /// Puts the rules in force where captured steps read them, if there are such.
    pub(super) fn write_fixed(&mut self, cuda: &Cuda, kept: &HostMasters) -> Result<(), Error> {
        let rows = self.by_slot(cuda, (0..).map_while(|id| kept.rule(id)))?;
        let counted = kept.lost_updates().is_some();
        match (&mut self.fixed, rows) {
            (Some(fixed), Some(rows)) => fixed.write(cuda, bytemuck::cast_slice(&rows), counted),
            _ => Ok(()),
        }
    }

    /// Refuses a configuration that captured steps cannot be told of, or by which parameters cannot join, before anything has changed.
    pub(super) fn admits(
        &mut self,
        cuda: &Cuda,
        kept: &HostMasters,
        config: &OptimizerConfig,
        joining: &[&str],
    ) -> Result<(), Error> {
        if self.fixed.is_none() {
            return Ok(());
        }
        joining.iter().try_for_each(|name| self.row(cuda, config.rule_for(name), 0).map(drop))?;
        let names = (0..).map_while(|id| kept.name(id));
        let rows = self.by_slot(cuda, names.map(|name| config.rule_for(name)))?;
        let (Some(fixed), Some(rows)) = (&self.fixed, rows) else { return Ok(()) };
        let bytes: &[u8] = bytemuck::cast_slice(&rows);
        if fixed.bytes == bytes {
            return Ok(());
        }
        let why = CaptureError::Upload { bytes: bytes.len() };
        cuda.inner.pool.state.refuse("set_config", why)
    }

    /// A row for each slot, if captured steps read them.
    fn by_slot<'r>(
        &mut self,
        cuda: &Cuda,
        by_id: impl Iterator<Item = &'r UpdateRule>,
    ) -> Result<Option<Vec<RuleBits>>, Error> {
        if self.fixed.is_none() {
            return Ok(None);
        }
        // Of no count of steps: tables are whole.
        by_id.map(|rule| self.row(cuda, rule, 0)).collect::<Result<_, _>>().map(Some)
    }
}

impl RuleTable {
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
        cuda.inner.counters.tables.add(1);
        cuda.inner.counters.table_bytes.add(bytes.len());
        bytes.clone_into(&mut self.bytes);
        Ok(())
    }
}
