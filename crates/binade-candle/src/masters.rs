//! Masters and optimizer state on the host; parameters that are `Var`s are set in place.

use crate::elements::{Elements, read_grads, read_moving, read_params};
use crate::params::untied;
use crate::{Candle, Error, device, dtype::dtype};
use binade_core::{FoundInf, Named, SparseGrads};
use binade_master_weights::{
    HostMasters, MasterWeights, OptimizerConfig, ParamInfo, match_gradients,
};
use candle_core::Tensor;

/// Optimizer of tensors by name, in which parameters that are `Var`s stay `Var`s: a step sets them, and a holder of a clone, such
/// as a layer of candle's, computes with the new values from then on. A parameter that a configuration stores in another type becomes a
/// new `Var`; the model is then to be built of [`MasterOptimizer::params`](binade_master_weights::MasterOptimizer), as
/// [`var_builder`](crate::var_builder) does.
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
        // The set is compared before the skip, so that one that does not fit is told at the first step; shapes alone are
        // compared, so that a skipped step reads nothing.
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

/// Refuses gradients that the parameters are not waiting for.
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
