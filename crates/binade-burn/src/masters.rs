//! Binade's own optimizers over tensors by name. A module is stepped by burn's optimizers, and its masters are the bases of its
//! views.

use crate::device::HOST;
use crate::{Burn, BurnTensor, Error};
use binade_core::{FoundInf, Named, NamedGrads};
use binade_master_weights::{HostMasters, MasterWeights, OptimizerConfig};

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
