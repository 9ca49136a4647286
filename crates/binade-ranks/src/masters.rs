//! Masters, which have the same bits on every rank.

use crate::{
    Group, RankDevice, RankGrads, Ranks, RanksError,
    header::{Call, hash},
    meeting::Statement,
};
use binade_core::{FoundInf, Named, RawTensor};
use binade_master_weights::{
    LoadError, MasterWeights, OptimizerConfig, ParameterSpec, SavedParameter, Snapshot,
};
use std::iter;

impl<D: RankDevice, G: Group> MasterWeights for Ranks<D, G> {
    type Masters = D::Masters;

    fn masters(
        &self,
        params: &mut D::Params,
        config: &OptimizerConfig,
    ) -> Result<D::Masters, Self::Error> {
        self.divisible(config)?;
        self.begin_alike(Call::Masters, params, self.setting(config))?;
        if self.is_sliced() {
            return self.masters_of_slices(params, config);
        }
        self.alone(|device| device.masters(params, config))
    }

    fn set_config(
        &self,
        masters: &mut D::Masters,
        config: &OptimizerConfig,
    ) -> Result<(), Self::Error> {
        self.divisible(config)?;
        self.alone(|device| device.set_config(masters, config))
    }

    fn step(
        &self,
        params: &mut D::Params,
        masters: &mut D::Masters,
        grads: RankGrads<D>,
        found: &FoundInf,
    ) -> Result<(), Self::Error> {
        if self.is_sliced() {
            return self.step_slices(params, masters, grads, found);
        }
        let average = grads.into_average()?;
        self.alone(|device| device.step(params, masters, average, &device.upload_found(found)?))
    }

    fn join(
        &self,
        params: &mut D::Params,
        masters: &mut D::Masters,
        mut more: D::Params,
        config: &OptimizerConfig,
    ) -> Result<(), Self::Error> {
        self.divisible(config)?;
        self.begin_alike(Call::Join, &mut more, self.setting(config))?;
        if self.is_sliced() {
            return self.join_slices(params, masters, more, config);
        }
        self.alone(|device| device.join(params, masters, more, config))
    }
}

impl<D: RankDevice, G: Group> Ranks<D, G> {
    /// Returns, as text, the settings besides the model that ranks must agree on.
    fn setting(&self, config: &OptimizerConfig) -> String {
        let saved = if self.saves_slices() { ", saved as slices" } else { "" };
        format!("{config:?}, {:?}{saved}", self.partition())
    }
}

/// Saves, exports and loads masters. With whole masters a rank saves and exports its own, which equal those of every rank. With slices these calls
/// gather, so every rank has to make them; [`Ranks::with_saved_slices`] saves slices instead. Every rank has to load, and all get an error if one
/// loads different state.
impl<D: RankDevice + Snapshot, G: Group> Snapshot for Ranks<D, G> {
    fn specs(
        &self,
        params: &D::Params,
        masters: &D::Masters,
    ) -> Result<Vec<ParameterSpec>, Self::Error> {
        self.alone(|device| device.specs(params, masters))
    }

    fn save(
        &self,
        params: &D::Params,
        masters: &D::Masters,
    ) -> Result<Vec<SavedParameter>, Self::Error> {
        if self.is_sliced() {
            let saves = if self.saves_slices() { Self::save_own } else { Self::save_slices };
            return saves(self, params, masters);
        }
        self.alone(|device| device.save(params, masters))
    }

    fn load(
        &self,
        params: &mut D::Params,
        masters: &mut D::Masters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Self::Error>> {
        let loaded = self.alone(|device| {
            Ok(if self.is_sliced() {
                self.load_slices(device, (params, masters), saved)
            } else {
                device.load(params, masters, saved)
            })
        });
        let loaded = loaded.map_err(LoadError::Device)?;
        let own = match loaded {
            Ok(()) => Statement::of(
                Call::Load,
                format!("parameters of the hash {:x}", hash(bytes(saved))),
            ),
            Err(_) => Statement::of(Call::Failed, String::new()),
        };
        let met = self.meet(own);
        loaded.map_err(|error| match error {
            LoadError::SpecMismatch(misfit) => LoadError::SpecMismatch(misfit),
            LoadError::Device(error) => LoadError::Device(RanksError::Device(error)),
        })?;
        met.map_err(LoadError::Device)?;
        if saved.iter().any(|saved| saved.value.is_slice()) {
            self.gather_loaded(params).map_err(LoadError::Device)?;
        }
        Ok(())
    }

    fn export_f32(
        &self,
        params: &D::Params,
        masters: &D::Masters,
    ) -> Result<Vec<Named<Vec<f32>>>, Self::Error> {
        if self.is_sliced() {
            return self.export_slices(params, masters);
        }
        self.alone(|device| device.export_f32(params, masters))
    }
}

/// Returns the bytes of parameters and of their states, without slices, which differ between ranks.
fn bytes(saved: &[SavedParameter]) -> impl Iterator<Item = &u8> {
    saved.iter().flat_map(|SavedParameter { value, kept, .. }| {
        let all = iter::once(value).chain(kept.iter().map(|(_, raw)| raw));
        all.filter(|raw| !raw.is_slice()).flat_map(RawTensor::bytes)
    })
}
