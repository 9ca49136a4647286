//! Parameters and their state as bytes, and back: both wait for the device.

use super::Masters;
use crate::{Error, Tensor, Wgpu, dispatch::structs::AppliedRow};
use binade_core::{Misfit, Named};
use binade_gpu::ParamState;
use binade_master_weights::{Kind, LoadError, ParameterForm, SavedParameter, Snapshot, fits};
use binade_ops::Download;

impl Snapshot for Wgpu {
    fn forms(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &Masters,
    ) -> Result<Vec<ParameterForm>, Error> {
        let form = |param: &Named<Tensor>| {
            let kept = masters.slot(&param.name).map(|slot| slot.forms(param.value.shape()));
            let (name, value) = (param.name.clone(), param.value.form());
            ParameterForm { name, value, kept: kept.unwrap_or_default() }
        };
        Ok(params.iter().map(form).collect())
    }

    fn save(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &Masters,
    ) -> Result<Vec<SavedParameter>, Error> {
        let applied = masters.read_applied(self)?;
        let one = |param: &Named<Tensor>| {
            let (name, value) = (param.name.clone(), self.to_raw(&param.value)?);
            let Some(slot) = masters.slot(&name) else {
                return Ok(SavedParameter { name, value, applied: 0, kept: Vec::new() });
            };
            let kept = slot.saved(self, param.value.shape())?;
            let applied = applied.get(slot.number as usize).map_or(0, |row| row.steps);
            Ok(SavedParameter { name, value, applied, kept })
        };
        params.iter().map(one).collect()
    }

    fn load(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut Masters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Error>> {
        let forms = self.forms(params, masters).map_err(LoadError::Device)?;
        let saved = fits(&forms, saved)?;
        saved.iter().try_for_each(|saved| masters.has_number(saved))?;
        // All of it on the device before any of it is in place.
        let uploaded = saved
            .iter()
            .map(|saved| ParamState::upload(self, saved))
            .collect::<Result<Vec<_>, _>>();
        let uploaded = uploaded.map_err(LoadError::Device)?;
        let applied = self
            .buffer_of(bytemuck::cast_slice(&masters.counts(&saved)))
            .map_err(LoadError::Device)?;
        for (param, (value, mut state)) in params.iter_mut().zip(uploaded) {
            param.value = value;
            let id = masters.kept.id(&param.name);
            if let Some(slot) = id.and_then(|id| masters.slots.get_mut(id)) {
                slot.put(&mut state);
            }
        }
        let most = saved.iter().map(|saved| saved.applied).max().unwrap_or(0);
        masters.applied = applied;
        masters.attempts = masters.attempts.max(most);
        Ok(())
    }

    fn export_f32(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &Masters,
    ) -> Result<Vec<Named<Vec<f32>>>, Error> {
        let exported = |Named { name, value }: &Named<Tensor>| {
            let values = match masters.slot(name) {
                Some(slot) => slot.values(self, value)?,
                None => self.download(value)?,
            };
            Ok(Named::new(name.clone(), values))
        };
        params.iter().map(exported).collect()
    }
}

impl Masters {
    /// A parameter's number is its place among counts, and cannot be another.
    fn has_number(&self, saved: &SavedParameter) -> Result<(), Misfit> {
        let number = saved.kept.iter().find(|(kind, _)| *kind == Kind::Number);
        let own = self.slot(&saved.name).map(|slot| slot.number.to_le_bytes());
        match number.zip(own) {
            Some(((_, raw), own)) if raw.bytes() != own => {
                let what = "number of another place in the set: give parameters in the order that was saved; it";
                Misfit::check(what, &saved.name, Some(raw.form()), None)
            }
            _ => Ok(()),
        }
    }

    /// The counts of applied steps by the slots' numbers, of which the last lost nothing.
    fn counts(&self, saved: &[&SavedParameter]) -> Vec<AppliedRow> {
        let mut counts = vec![AppliedRow::default(); self.slots.len().max(1)];
        for saved in saved {
            let number = self.slot(&saved.name).map(|slot| slot.number as usize);
            if let Some(count) = number.and_then(|number| counts.get_mut(number)) {
                count.steps = saved.applied;
            }
        }
        counts
    }
}
