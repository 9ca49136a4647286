//! Master weights and their snapshots.

use super::{Counting, CountingError};
use binade_core::Named;
use binade_master_weights::{
    LoadError, MasterWeights, OptimizerConfig, ParameterSpec, SavedParameter, Snapshot,
};

impl<D: MasterWeights> MasterWeights for Counting<D> {
    type Masters = D::Masters;

    fn masters(
        &self,
        params: &mut D::Params,
        plan: &OptimizerConfig,
    ) -> Result<D::Masters, Self::Error> {
        self.launch("masters", |device| device.masters(params, plan))
    }

    fn set_config(
        &self,
        masters: &mut D::Masters,
        plan: &OptimizerConfig,
    ) -> Result<(), Self::Error> {
        self.launch("set_config", |device| device.set_config(masters, plan))
    }

    fn step(
        &self,
        params: &mut D::Params,
        masters: &mut D::Masters,
        grads: D::Grads,
        found: &Self::Found,
    ) -> Result<(), Self::Error> {
        self.launch("step", |device| device.step(params, masters, grads, &found.0))
    }

    fn join(
        &self,
        params: &mut D::Params,
        masters: &mut D::Masters,
        more: D::Params,
        plan: &OptimizerConfig,
    ) -> Result<(), Self::Error> {
        self.launch("join", |device| device.join(params, masters, more, plan))
    }
}

impl<D: Snapshot> Snapshot for Counting<D> {
    fn specs(
        &self,
        params: &D::Params,
        masters: &D::Masters,
    ) -> Result<Vec<ParameterSpec>, Self::Error> {
        Ok(self.device.specs(params, masters)?)
    }

    #[track_caller]
    fn save(
        &self,
        params: &D::Params,
        masters: &D::Masters,
    ) -> Result<Vec<SavedParameter>, Self::Error> {
        self.look("save", |device| device.save(params, masters))
    }

    #[track_caller]
    fn load(
        &self,
        params: &mut D::Params,
        masters: &mut D::Masters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Self::Error>> {
        let loaded = self.look("load", |device| Ok(device.load(params, masters, saved)));
        loaded.map_err(LoadError::Device)?.map_err(|error| match error {
            LoadError::SpecMismatch(misfit) => LoadError::SpecMismatch(misfit),
            LoadError::Device(error) => LoadError::Device(CountingError::Device(error)),
        })
    }

    #[track_caller]
    fn export_f32(
        &self,
        params: &D::Params,
        masters: &D::Masters,
    ) -> Result<Vec<Named<Vec<f32>>>, Self::Error> {
        self.look("export_f32", |device| device.export_f32(params, masters))
    }
}
