//! Master weights and their snapshots.

use super::{Counting, CountingError};
use binade_core::Named;
use binade_master_weights::{
    LoadError, MasterWeights, OptimizerConfig, ParameterSpec, SavedParameter, Snapshot,
};

impl<D: MasterWeights> MasterWeights for Counting<D> {
    type Masters = D::Masters;

    forward! {
        launch masters(params: &mut D::Params, config: &OptimizerConfig) -> D::Masters;
        launch set_config(masters: &mut D::Masters, config: &OptimizerConfig) -> ();
        launch step(
            params: &mut D::Params,
            masters: &mut D::Masters,
            grads: D::Grads,
            found: &Self::Found => &found.0
        ) -> ();
        launch join(
            params: &mut D::Params,
            masters: &mut D::Masters,
            more: D::Params,
            config: &OptimizerConfig
        ) -> ();
        launch set_offsets(masters: &mut D::Masters, offsets: &[Named<u64>]) -> ();
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

    forward! {
        look save(params: &D::Params, masters: &D::Masters) -> Vec<SavedParameter>;
        look export_f32(params: &D::Params, masters: &D::Masters) -> Vec<Named<Vec<f32>>>;
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
}
