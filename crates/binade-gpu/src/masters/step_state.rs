//! The driver's part of an optimizer's state: the tables that a step's kernels read, and their launches.

use super::Step;
use crate::{BufferOf, Kernels, Result};
use binade_master_weights::{HostMasters, LostUpdates, OptimizerConfig};
use std::fmt;

/// Tables on the device that the kernels of a step read, and the launches of the step.
///
/// Applied steps are counted on the device, in a buffer that [`Masters`](super::Masters) keeps.
pub trait StepState<D: Kernels<StepState = Self>>: fmt::Debug + Sized {
    /// Bytes of a parameter's count, of which the first eight are the number of applied steps, little-endian.
    const COUNT_BYTES: usize;

    /// Returns the state of this many parameters.
    ///
    /// # Errors
    ///
    /// Where the device fails or has no room.
    fn new(device: &D, parameters: usize, counts_lost: bool) -> Result<Self, D>;

    /// Refuses a configuration that captured steps cannot be told of, before anything has changed. `joining` are names of parameters that
    /// are about to join.
    ///
    /// # Errors
    ///
    /// Where a captured step stands in the way.
    fn admits(
        &mut self,
        _device: &D,
        _kept: &HostMasters,
        _plan: &OptimizerConfig,
        _joining: &[&str],
    ) -> Result<(), D> {
        Ok(())
    }

    /// Forgets the rules in force, makes room for parameters that have joined, and counts lost updates from now on, or no more.
    /// `counts` has the counts of all, of which those of the first `before` were there. Changes nothing where it fails.
    ///
    /// # Errors
    ///
    /// Where the device fails or has no room.
    fn change(
        &mut self,
        device: &D,
        counts: &BufferOf<D>,
        parameters: [usize; 2],
        counts_lost: bool,
    ) -> Result<(), D>;

    /// Tells captured steps of another configuration in force.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn plan_changed(&mut self, _device: &D, _kept: &HostMasters) -> Result<(), D> {
        Ok(())
    }

    /// Counts a step that is asked for and launches it. Its parameters' memory is their own.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn step(&mut self, device: &D, step: Step<'_, D>) -> Result<(), D>;

    /// Waits for the device and returns the updates that each parameter's last step lost. `counts` reads the parameters' counts.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn read_lost(
        &self,
        device: &D,
        counts: impl FnOnce() -> Result<Vec<u8>, D>,
    ) -> Result<Vec<LostUpdates>, D>;
}
