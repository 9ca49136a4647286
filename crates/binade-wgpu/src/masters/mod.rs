//! Master weights on the device: the fused step, predicated there.

mod corrections;
mod lost;
mod master_weights;
mod rules;
mod scaled;
mod snapshot;
mod step;
mod table;

use crate::{Error, Wgpu, memory::Buffer, shaders::Shader};
use binade_gpu::ParamState;
use binade_master_weights::HostMasters;
use rules::Rules;
use std::fmt;
use table::Table;

/// Their shaders.
pub(crate) const SHADERS: &[&Shader] = &[
    &step::PREPARE,
    &step::SGD,
    &step::ADAM,
    &lost::FORGET,
    &scaled::OPEN,
    &scaled::LARGEST,
    &scaled::PACK,
];

/// Masters, moments and counts of applied steps on the device, and what the host knows of them.
pub struct Masters {
    /// Names, lengths, types and rules; no values.
    kept: HostMasters,
    /// By id.
    slots: Vec<ParamState<Wgpu>>,
    rules: Rules,
    /// Which gradients the last step asked for.
    asked: Table,
    /// `Applied` of each slot: steps, and what the last of them lost.
    applied: Buffer,
    /// What each parameter's next step is made with.
    moves: Buffer,
    /// What stands in where a shader takes a buffer that a rule or a store does not keep.
    nothing: [Buffer; 4],
    counts_lost: bool,
    /// Steps that were asked for: at least as many as were applied.
    attempts: u64,
}

impl Masters {
    /// Bytes of masters, and of optimizer state.
    pub fn bytes(&self) -> (u64, u64) {
        let masters = self.slots.iter().map(ParamState::master_bytes).sum();
        (masters, self.slots.iter().map(ParamState::moment_bytes).sum())
    }

    /// Returns the state of the parameter of this name.
    fn slot(&self, name: &str) -> Option<&ParamState<Wgpu>> {
        self.slots.get(self.kept.id(name)?)
    }

    /// A parameter's master and moments, as `f32`, and the steps applied to it: a read, for a checkpoint or a test.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn read(
        &self,
        wgpu: &Wgpu,
        name: &str,
    ) -> Result<Option<binade_master_weights::Slot>, Error> {
        let Some(slot) = self.slot(name) else { return Ok(None) };
        let applied = self.read_applied(wgpu)?;
        let applied = applied.get(slot.number as usize).copied().unwrap_or_default();
        let lost = self.counts_lost.then(|| applied.lost());
        Ok(Some(binade_master_weights::Slot { lost, ..slot.read(wgpu, applied.steps)? }))
    }
}

impl fmt::Debug for Masters {
    /// Printing must not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masters({} parameters, wgpu)", self.slots.len())
    }
}
