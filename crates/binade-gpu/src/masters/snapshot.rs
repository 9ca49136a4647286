//! Parameters and their state as bytes, and back: both wait for the device.

use super::{Masters, ParamState};
use crate::{Kernels, Result, StepState, Tensor};
use binade_core::{Named, SpecMismatch};
use binade_master_weights::{LoadError, ParameterSpec, SavedParameter, StateKind, check_saved};
use std::sync::atomic::Ordering;

impl<D: Kernels> Masters<D> {
    /// Returns types and shapes of what is saved: implements `Snapshot::specs`.
    pub fn specs(&self, params: &[Named<Tensor<D>>]) -> Vec<ParameterSpec> {
        let spec = |param: &Named<Tensor<D>>| {
            let kept = self.state(&param.name).map(|state| state.specs(param.value.shape()));
            let (name, value) = (param.name.clone(), param.value.spec());
            ParameterSpec { name, value, kept: kept.unwrap_or_default() }
        };
        params.iter().map(spec).collect()
    }

    /// Waits for the device and returns the parameters with their state: implements `Snapshot::save`.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    pub fn save(&self, device: &D, params: &[Named<Tensor<D>>]) -> Result<Vec<SavedParameter>, D> {
        let applied = Self::applied(&self.read_counts(device)?);
        let one = |param: &Named<Tensor<D>>| {
            let (name, value) = (param.name.clone(), param.value.to_raw(device)?);
            let Some(state) = self.state(&name) else {
                return Ok(SavedParameter { name, value, applied: 0, kept: Vec::new() });
            };
            let kept = state.saved(device, param.value.shape())?;
            let applied = applied.get(state.number as usize).copied().unwrap_or(0);
            Ok(SavedParameter { name, value, applied, kept })
        };
        params.iter().map(one).collect()
    }

    /// Puts saved parameters and state in place: implements `Snapshot::load`.
    ///
    /// # Errors
    ///
    /// [`LoadError::SpecMismatch`] for what does not go with the parameters; where the device fails or has no room. Nothing has
    /// changed then.
    pub fn load(
        &mut self,
        device: &D,
        params: &mut [Named<Tensor<D>>],
        saved: &[SavedParameter],
    ) -> std::result::Result<(), LoadError<D::Error>> {
        let saved = check_saved(&self.specs(params), saved)?;
        saved.iter().try_for_each(|saved| self.has_number(saved))?;
        // All of it on the device before any of it is in place.
        let uploaded = saved.iter().map(|saved| ParamState::upload(device, saved));
        let uploaded = uploaded.collect::<Result<Vec<_>, D>>().map_err(LoadError::Device)?;
        let counts = device.buffer_of(&self.saved_counts(&saved)).map_err(LoadError::Device)?;
        for (param, (value, mut state)) in params.iter_mut().zip(uploaded) {
            param.value = value;
            let id = self.kept.id(&param.name);
            if let Some(own) = id.and_then(|id| self.states.get_mut(id)) {
                own.put(&mut state);
            }
        }
        let most = saved.iter().map(|saved| saved.applied).max().unwrap_or(0);
        self.counts = counts;
        self.attempts.fetch_max(most, Ordering::Relaxed);
        Ok(())
    }

    /// Waits for the device and returns the parameters' `f32` values: implements `Snapshot::export_f32`.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    pub fn export_f32(
        &self,
        device: &D,
        params: &[Named<Tensor<D>>],
    ) -> Result<Vec<Named<Vec<f32>>>, D> {
        let exported = |Named { name, value }: &Named<Tensor<D>>| {
            let values = match self.state(name) {
                Some(state) => state.values(device, value)?,
                None => value.download(device)?,
            };
            Ok(Named::new(name.clone(), values))
        };
        params.iter().map(exported).collect()
    }

    /// A parameter's number is its place among counts, and cannot be another.
    fn has_number(&self, saved: &SavedParameter) -> std::result::Result<(), SpecMismatch> {
        let number = saved.kept.iter().find(|(kind, _)| *kind == StateKind::Number);
        let own = self.state(&saved.name).map(|state| state.number.to_le_bytes());
        match number.zip(own) {
            Some(((_, raw), own)) if raw.bytes() != own => {
                let what = "number of another place in the set: give parameters in the order that was saved; it";
                SpecMismatch::check(what, &saved.name, Some(raw.spec()), None)
            }
            _ => Ok(()),
        }
    }

    /// The counts of applied steps by the parameters' numbers, of which the last lost nothing.
    fn saved_counts(&self, saved: &[&SavedParameter]) -> Vec<u8> {
        let mut counts = vec![0; Self::count_bytes(self.states.len())];
        for saved in saved {
            let number = self.state(&saved.name).map(|state| state.number as usize);
            let row =
                number.and_then(|number| counts.get_mut(number * D::StepState::COUNT_BYTES..));
            if let Some(steps) = row.and_then(|row| row.first_chunk_mut()) {
                *steps = saved.applied.to_le_bytes();
            }
        }
        counts
    }
}
