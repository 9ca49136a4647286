//! Masters, moments and counts of applied steps on the device.

mod join;
mod master;
mod param_state;
mod rules;
mod snapshot;
mod step;
mod step_state;

pub use master::{MasterState, ScaledMaster};
pub use param_state::ParamState;
pub use rules::{RuleNumbers, Rules};
pub use step::{Step, StepParam};
pub use step_state::StepState;

use crate::{BufferOf, Kernels, Result};
use binade_master_weights::{HostMasters, HostParamState, LostUpdates};
use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
};

/// Masters, moments and counts of applied steps on the device, with the names, types and rules that the host knows.
pub struct Masters<D: Kernels> {
    /// Names, lengths, types and rules; no values.
    kept: HostMasters,
    /// State of each parameter, by id.
    states: Vec<ParamState<D>>,
    /// Steps applied to each parameter, by number.
    counts: BufferOf<D>,
    /// Number of requested steps, including replays, which is at least the number of applied steps.
    attempts: Arc<AtomicU64>,
    driver: D::StepState,
}

impl<D: Kernels> Masters<D> {
    /// Returns the bytes of masters, and of optimizer state.
    pub fn bytes(&self) -> (u64, u64) {
        let masters = self.states.iter().map(ParamState::master_bytes).sum();
        (masters, self.states.iter().map(ParamState::moment_bytes).sum())
    }

    /// Waits for the device and returns a parameter's master and moments, as `f32`, and its number of applied steps, for a checkpoint or a test.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    pub fn read(&self, device: &D, name: &str) -> Result<Option<HostParamState>, D> {
        let Some(state) = self.state(name) else { return Ok(None) };
        let (number, counts) = (state.number as usize, self.read_counts(device)?);
        let applied = Self::applied(&counts).get(number).copied().unwrap_or(0);
        let lost = self.read_lost(device, || Ok(counts))?;
        let lost = lost.and_then(|lost| lost.get(number).copied());
        Ok(Some(HostParamState { lost, ..state.read(device, applied)? }))
    }

    /// Waits for the device and returns the lost updates of all parameters' last steps together; `None` if the configuration does not count them.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    pub fn lost_updates(&self, device: &D) -> Result<Option<LostUpdates>, D> {
        let add = |mut all: LostUpdates, one| {
            all += one;
            all
        };
        let lost = self.read_lost(device, || self.read_counts(device))?;
        Ok(lost.map(|lost| lost.into_iter().fold(LostUpdates::default(), add)))
    }

    /// Returns the state of the parameter of this name.
    fn state(&self, name: &str) -> Option<&ParamState<D>> {
        self.states.get(self.kept.id(name)?)
    }

    /// Waits for the device and returns the counts of all parameters, by number.
    fn read_counts(&self, device: &D) -> Result<Vec<u8>, D> {
        device.read_bytes(&self.counts, 0..D::StepState::COUNT_BYTES * self.states.len())
    }

    /// Returns the steps applied to each parameter, by number, from their counts.
    fn applied(counts: &[u8]) -> Vec<u64> {
        let steps = |row: &[u8]| row.first_chunk().map_or(0, |steps| u64::from_le_bytes(*steps));
        counts.chunks_exact(D::StepState::COUNT_BYTES).map(steps).collect()
    }

    /// Waits for the device and returns the lost updates of each parameter's last step, by number.
    fn read_lost(
        &self,
        device: &D,
        counts: impl FnOnce() -> Result<Vec<u8>, D>,
    ) -> Result<Option<Vec<LostUpdates>>, D> {
        let counts_lost = self.kept.lost_updates().is_some();
        counts_lost.then(|| self.driver.read_lost(device, counts)).transpose()
    }
}

impl<D: Kernels> fmt::Debug for Masters<D> {
    /// Printing must not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masters({} parameters, {})", self.states.len(), D::NAME)
    }
}
