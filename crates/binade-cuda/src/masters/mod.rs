//! Master weights on the device: the fused step, predicated there.

mod by_rule;
mod corrections;
mod fixed;
mod lost;
mod master_weights;
mod rules;
mod scaled;
mod snapshot;
mod step;

use crate::{Cuda, Error, memory::Buffer};
use binade_gpu::ParamState;
use binade_master_weights::HostMasters;
use lost::Lost;
use rules::Rules;
use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
};

/// Masters, moments and counts of applied steps on the device, and what the host knows of them.
pub struct Masters {
    /// Names, lengths, types and rules; no values.
    kept: HostMasters,
    /// By id.
    slots: Vec<ParamState<Cuda>>,
    rules: Rules,
    /// Steps applied to each parameter: 8 bytes a slot.
    applied: Buffer,
    /// The constants of each parameter's next step.
    constants: Buffer,
    lost: Lost,
    /// Steps that were asked for, replays among them: at least as many as were applied.
    attempts: Arc<AtomicU64>,
}

impl Masters {
    /// Bytes of masters, and of optimizer state.
    pub fn bytes(&self) -> (u64, u64) {
        let masters = self.slots.iter().map(ParamState::master_bytes).sum();
        (masters, self.slots.iter().map(ParamState::moment_bytes).sum())
    }

    /// Returns the state of the parameter of this name.
    fn slot(&self, name: &str) -> Option<&ParamState<Cuda>> {
        self.slots.get(self.kept.id(name)?)
    }

    /// A parameter's master and moments, as `f32`, and the steps applied to it: a read, for a checkpoint or a test.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn read(
        &self,
        cuda: &Cuda,
        name: &str,
    ) -> Result<Option<binade_master_weights::Slot>, Error> {
        let Some(slot) = self.slot(name) else { return Ok(None) };
        let applied = cuda.read(&self.applied)?;
        let (applied, _) = applied.as_chunks();
        let applied = applied.get(slot.number as usize).copied().map_or(0, u64::from_le_bytes);
        let lost = self.lost.read(cuda)?.and_then(|lost| lost.get(slot.number as usize).copied());
        Ok(Some(binade_master_weights::Slot { lost, ..slot.read(cuda, applied)? }))
    }
}

impl fmt::Debug for Masters {
    /// Printing must not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masters({} parameters, cuda)", self.slots.len())
    }
}
