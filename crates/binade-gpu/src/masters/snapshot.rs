//! Parameters and their state as bytes, and back: both wait for the device.

use super::{Masters, ParamState, join::check_writable};
use crate::{Gpu, Kernels, Result, StepState, Tensor};
use binade_core::{Named, SpecMismatch};
use binade_master_weights::{
    LoadError, ParameterSpec, SavedParameter, Snapshot, StateKind, check_saved,
};
use std::sync::atomic::Ordering;

impl<D: Kernels> Snapshot for Gpu<'_, D> {
    fn specs(&self, params: &Self::Params, masters: &Masters<D>) -> Result<Vec<ParameterSpec>, D> {
        Ok(masters.specs(params))
    }

    fn save(&self, params: &Self::Params, masters: &Masters<D>) -> Result<Vec<SavedParameter>, D> {
        let applied = Masters::<D>::applied(&masters.read_counts(self.0)?);
        let one = |param: &Named<Tensor<D>>| {
            let (name, value) = (param.name.clone(), param.value.to_raw(self.0)?);
            let Some(state) = masters.state(&name) else {
                return Ok(SavedParameter { name, value, applied: 0, kept: Vec::new() });
            };
            let kept = state.saved(self.0, param.value.shape())?;
            let applied = applied.get(state.number as usize).copied().unwrap_or(0);
            Ok(SavedParameter { name, value, applied, kept })
        };
        params.iter().map(one).collect()
    }

    fn load(
        &self,
        params: &mut Self::Params,
        masters: &mut Masters<D>,
        saved: &[SavedParameter],
    ) -> std::result::Result<(), LoadError<Self::Error>> {
        let saved = check_saved(&masters.specs(params), saved)?;
        saved.iter().try_for_each(|saved| masters.has_number(saved))?;
        check_writable(self.0, params).map_err(LoadError::Device)?;
        // All of it on the device before any of it is in place.
        let uploaded = saved.iter().map(|saved| ParamState::upload(self.0, saved));
        let uploaded = uploaded.collect::<Result<Vec<_>, D>>().map_err(LoadError::Device)?;
        let counts = self.0.buffer_of(&masters.saved_counts(&saved)).map_err(LoadError::Device)?;
        for (param, (value, mut state)) in params.iter_mut().zip(uploaded) {
            self.0.replace(&mut param.value, value).map_err(LoadError::Device)?;
            let id = masters.kept.id(&param.name);
            if let Some(own) = id.and_then(|id| masters.states.get_mut(id)) {
                own.put(&mut state);
            }
        }
        let most = saved.iter().map(|saved| saved.applied).max().unwrap_or(0);
        masters.counts = counts;
        masters.attempts.fetch_max(most, Ordering::Relaxed);
        Ok(())
    }

    fn export_f32(
        &self,
        params: &Self::Params,
        masters: &Masters<D>,
    ) -> Result<Vec<Named<Vec<f32>>>, D> {
        let exported = |Named { name, value }: &Named<Tensor<D>>| {
            let values = match masters.state(name) {
                Some(state) => state.values(self.0, value)?,
                None => value.download(self.0)?,
            };
            Ok(Named::new(name.clone(), values))
        };
        params.iter().map(exported).collect()
    }
}

impl<D: Kernels> Masters<D> {
    /// Returns types and shapes of what is saved.
    fn specs(&self, params: &[Named<Tensor<D>>]) -> Vec<ParameterSpec> {
        let spec = |param: &Named<Tensor<D>>| {
            let kept = self.state(&param.name).map(|state| state.specs(param.value.shape()));
            let (name, value) = (param.name.clone(), param.value.spec());
            ParameterSpec { name, value, kept: kept.unwrap_or_default() }
        };
        params.iter().map(spec).collect()
    }

    /// Refuses a parameter that was saved by another number: it is the parameter's place among counts.
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

    /// Returns the counts of applied steps by the parameters' numbers, of which the last lost nothing.
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
