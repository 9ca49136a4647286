//! Masters and optimizer state on the host. Parameters that are `Var`s are set in place.

use crate::elements::{Elements, read_grads, read_moving, read_params};
use crate::params::untied;
use crate::{Candle, Error, device, dtype::dtype};
use binade_core::{FoundInf, Named, SparseGrads};
use binade_master_weights::{
    HostMasters, MasterWeights, OptimizerConfig, ParamInfo, match_gradients,
};
use candle_core::Tensor;

/// Keeps masters of parameters that may be `Var`s. A step sets a `Var` in place, so that layers that hold a clone of it compute with the new values.
/// A parameter that a configuration stores in another type becomes a new `Var`. Build the model of
/// [`MasterOptimizer::params`](binade_master_weights::MasterOptimizer) then, by [`var_builder`](crate::var_builder).
impl MasterWeights for Candle {
    type Masters = HostMasters;

    fn masters(
        &self,
        params: &mut Vec<Named<Tensor>>,
        config: &OptimizerConfig,
    ) -> Result<HostMasters, Error> {
        untied(&*params)?;
        let mut elements = read_params(params)?;
        let masters = Self::HOST.masters(&mut elements, config)?;
        put(&elements, params)?;
        Ok(masters)
    }

    fn set_config(&self, masters: &mut HostMasters, config: &OptimizerConfig) -> Result<(), Error> {
        Ok(Self::HOST.set_config(masters, config)?)
    }

    fn step(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut HostMasters,
        grads: SparseGrads<Tensor>,
        found: &FoundInf,
    ) -> Result<(), Error> {
        // Compared before the skip, so that even a skipped first step reports a wrong set. Only shapes are compared, so that a skipped step reads
        // nothing.
        fit(params, masters, &grads)?;
        if found.is_raised() {
            return Ok(());
        }
        let grads = read_grads(&grads)?;
        let mut elements = read_moving(params, &grads)?;
        Self::HOST.step(&mut elements, masters, grads, found)?;
        put(&elements, params)
    }

    fn join(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut HostMasters,
        mut more: Vec<Named<Tensor>>,
        config: &OptimizerConfig,
    ) -> Result<(), Error> {
        untied(params.iter().chain(&more))?;
        let (mut elements, joining) = (read_params(params)?, read_params(&more)?);
        let there = elements.len();
        Self::HOST.join(&mut elements, masters, joining, config)?;
        put(&elements[there..], &mut more)?;
        params.append(&mut more);
        Ok(())
    }
}

/// Refuses gradients that do not match the parameters.
fn fit(
    params: &[Named<Tensor>],
    masters: &HostMasters,
    grads: &SparseGrads<Tensor>,
) -> Result<(), Error> {
    let facts = params.iter().map(|Named { name, value }| ParamInfo {
        name,
        dtype: dtype(value.dtype()),
        shape: value.dims(),
    });
    let places = match_gradients(&facts.collect::<Vec<_>>(), masters, device::shapes(grads));
    places.map(drop).map_err(device::mismatch)
}

/// Puts each of `elements` into the parameter of its place.
fn put(elements: &[Named<Elements>], params: &mut [Named<Tensor>]) -> Result<(), Error> {
    elements.iter().zip(params).try_for_each(|(new, param)| new.value.put(&mut param.value))
}
