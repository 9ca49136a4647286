//! Binade's own optimizers over tensors by name. A module is stepped by burn's optimizers, and its masters are the bases of its
//! views.

use crate::device::HOST;
use crate::{Burn, BurnTensor, Error};
use binade_core::{FoundInf, Named, NamedGrads};
use binade_master_weights::{
    HostMasters, LoadError, MasterWeights, OptimizerConfig, ParameterSpec, SavedParameter, Snapshot,
};

type Params = Vec<Named<BurnTensor>>;
type Grads = NamedGrads<BurnTensor>;

impl MasterWeights for Burn {
    type Masters = HostMasters;

    fn masters(&self, params: &mut Params, config: &OptimizerConfig) -> Result<HostMasters, Error> {
        HOST.masters(params, config)
    }

    fn set_config(&self, masters: &mut HostMasters, config: &OptimizerConfig) -> Result<(), Error> {
        HOST.set_config(masters, config)
    }

    fn step(
        &self,
        params: &mut Params,
        masters: &mut HostMasters,
        grads: Grads,
        found: &FoundInf,
    ) -> Result<(), Error> {
        HOST.step(params, masters, grads, found)
    }

    fn join(
        &self,
        params: &mut Params,
        masters: &mut HostMasters,
        more: Params,
        config: &OptimizerConfig,
    ) -> Result<(), Error> {
        HOST.join(params, masters, more, config)
    }
}

impl Snapshot for Burn {
    fn specs(&self, params: &Params, masters: &HostMasters) -> Result<Vec<ParameterSpec>, Error> {
        HOST.specs(params, masters)
    }

    fn save(&self, params: &Params, masters: &HostMasters) -> Result<Vec<SavedParameter>, Error> {
        HOST.save(params, masters)
    }

    fn load(
        &self,
        params: &mut Params,
        masters: &mut HostMasters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Error>> {
        HOST.load(params, masters, saved)
    }

    fn export_f32(
        &self,
        params: &Params,
        masters: &HostMasters,
    ) -> Result<Vec<Named<Vec<f32>>>, Error> {
        HOST.export_f32(params, masters)
    }
}
