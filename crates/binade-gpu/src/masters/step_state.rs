//! Driver's part of the optimizer state: the tables that a step's kernels read, and their launches.

use super::Step;
use crate::{BufferOf, Kernels, Result};
use binade_master_weights::{HostMasters, LostUpdates, OptimizerConfig};
use std::fmt;

/// Tables on the device that the kernels of a step read, and the launches of the step.
///
/// Applied steps are counted on the device, in a buffer that [`Masters`](super::Masters) keeps.
pub trait StepState<D: Kernels<StepState = Self>>: fmt::Debug + Sized {
    /// Bytes of a parameter's count. The first eight are the number of applied steps, little-endian.
    const COUNT_BYTES: usize;

    /// Returns the state of this many parameters.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails or has too little memory.
    fn new(device: &D, parameters: usize, counts_lost: bool) -> Result<Self, D>;

    /// Checks, before anything changes, that captured steps can take a new configuration. `joining` are the names of the parameters that are about to
    /// join.
    ///
    /// # Errors
    ///
    /// Returns an error if a captured step prevents the change.
    fn admits(
        &mut self,
        _device: &D,
        _kept: &HostMasters,
        _plan: &OptimizerConfig,
        _joining: &[&str],
    ) -> Result<(), D> {
        Ok(())
    }

    /// Discards the current rules, makes room for joined parameters, and starts or stops counting lost updates. `counts` has the counts of all
    /// parameters; the first `before` are the earlier ones. It changes nothing if it fails.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails or has too little memory.
    fn change(
        &mut self,
        device: &D,
        counts: &BufferOf<D>,
        parameters: [usize; 2],
        counts_lost: bool,
    ) -> Result<(), D>;

    /// Passes a new configuration to captured steps.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn plan_changed(&mut self, _device: &D, _kept: &HostMasters) -> Result<(), D> {
        Ok(())
    }

    /// Counts a requested step and launches it. The memory of its parameters is unshared.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn step(&mut self, device: &D, step: Step<'_, D>) -> Result<(), D>;

    /// Waits for the device and returns the lost updates of each parameter's last step. `counts` reads the parameters' counts.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn read_lost(
        &self,
        device: &D,
        counts: impl FnOnce() -> Result<Vec<u8>, D>,
    ) -> Result<Vec<LostUpdates>, D>;
}
