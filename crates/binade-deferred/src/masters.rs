//! Master weights: parameters are replaced by new tensors, masters are changed in place.

mod snapshot;

use crate::{Deferred, Error, Found, Gradients, Tensor, late::Late, stand_in, tensor::Like};
use binade_core::{DType, Named, TrainError};
use binade_cpu::{Cpu, check_step};
use binade_master_weights::{HostMasters, MasterWeights, Plan};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// Masters and moments on the device.
pub struct Masters {
    /// State that only jobs read, one at a time and in order.
    state: Arc<Mutex<Result<HostMasters, Error>>>,
    /// Masters without elements, by which the host knows which plans and gradients fit.
    sample: HostMasters,
}

impl Masters {
    /// Returns the state as jobs have left it.
    pub(crate) fn now(&self) -> Result<HostMasters, Error> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the state.
    fn replace(&self, masters: HostMasters) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Ok(masters);
    }

    /// Runs `work` on the state, within a job. An error stays, and is that of every later job.
    fn with<T>(
        state: &Mutex<Result<HostMasters, Error>>,
        work: impl FnOnce(&mut HostMasters) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = work(state.as_mut().map_err(|error| error.clone())?);
        if let Err(error) = &outcome {
            *state = Err(error.clone());
        }
        outcome
    }
}

type Params = Vec<Named<Tensor>>;
type Values = Vec<Named<Late<binade_cpu::Tensor>>>;

impl MasterWeights for Deferred {
    type Masters = Masters;

    fn masters(&self, params: &mut Params, plan: &Plan) -> Result<Masters, Error> {
        let mut likes = stand_in::parameters(params)?;
        let sample = Cpu.masters(&mut likes, plan)?;
        let dtypes: Vec<DType> = likes.iter().map(|like| like.value.dtype()).collect();
        let state = Arc::new(Mutex::new(Err(Error::Foreign)));
        let (started, plan_then) = (state.clone(), plan.clone());
        self.replace(params, &dtypes, move |values| {
            let masters = Cpu.masters(values, &plan_then)?;
            *started.lock().unwrap_or_else(PoisonError::into_inner) = Ok(masters);
            Ok(())
        });
        Ok(Masters { state, sample })
    }

    fn set_plan(&self, masters: &mut Masters, plan: &Plan) -> Result<(), Error> {
        masters.sample.set_plan(plan).map_err(binade_cpu::Error::from)?;
        let (state, plan) = (masters.state.clone(), plan.clone());
        self.fill::<()>(Vec::new(), move || {
            Masters::with(&state, |masters| Ok(Cpu.set_plan(masters, &plan)?))?;
            Ok(Vec::new())
        });
        Ok(())
    }

    fn step(
        &self,
        params: &mut Params,
        masters: &mut Masters,
        grads: Gradients,
        found: &Found,
    ) -> Result<(), Error> {
        match check(params, masters, &grads) {
            // Gradients of other devices may have raised it. Only here does a step wait for a value of the device.
            Err(Error::Cpu(binade_cpu::Error::Train(TrainError::NoGradients(_))))
                if self.has_raised(found)? =>
            {
                return Ok(());
            }
            checked => checked?,
        }
        let dtypes: Vec<DType> = params.iter().map(|param| param.value.dtype()).collect();
        let (state, found) = (masters.state.clone(), found.0.clone());
        self.replace(params, &dtypes, move |values| {
            let (grads, found) = (grads.take()?, found.get()?);
            Masters::with(&state, |masters| Ok(Cpu.step(values, masters, grads, found)?))
        });
        Ok(())
    }

    fn join(
        &self,
        params: &mut Params,
        masters: &mut Masters,
        mut more: Params,
        plan: &Plan,
    ) -> Result<(), Error> {
        let mut likes = Vec::new();
        Cpu.join(&mut likes, &mut masters.sample, stand_in::parameters(&more)?, plan)?;
        let dtypes: Vec<DType> = likes.iter().map(|like| like.value.dtype()).collect();
        let (state, plan) = (masters.state.clone(), plan.clone());
        self.replace(&mut more, &dtypes, move |values| {
            let mut joined = Vec::new();
            let new = std::mem::take(values);
            Masters::with(&state, |masters| Ok(Cpu.join(&mut joined, masters, new, &plan)?))?;
            *values = joined;
            Ok(())
        });
        params.append(&mut more);
        Ok(())
    }
}

impl Deferred {
    /// Returns true if a step must be skipped. This read needs no window, as that of an outcome needs none.
    fn has_raised(&self, found: &Found) -> Result<bool, Error> {
        self.resolve();
        Ok(found.0.get()?.is_raised())
    }

    /// Replaces each parameter by what `work` makes of it.
    fn replace(
        &self,
        params: &mut Params,
        dtypes: &[DType],
        work: impl FnOnce(&mut Vec<Named<binade_cpu::Tensor>>) -> Result<(), Error> + Send + 'static,
    ) {
        let (mut places, mut before): (Vec<_>, Values) = (Vec::new(), Vec::new());
        for (param, dtype) in params.iter_mut().zip(dtypes) {
            let after = Tensor::later(Like { dtype: *dtype, ..param.value.like() });
            places.push(after.value().clone());
            before.push(Named::new(param.name.clone(), param.value.value().clone()));
            param.value = after;
        }
        self.fill(places, move || {
            let mut values = taken(before)?;
            work(&mut values)?;
            Ok(values.into_iter().map(|param| param.value).collect())
        });
    }
}

fn taken(params: Values) -> Result<Vec<Named<binade_cpu::Tensor>>, Error> {
    let take = |Named { name, value }: Named<Late<_>>| Ok(Named { name, value: value.take()? });
    params.into_iter().map(take).collect()
}

/// Refuses parameters, masters and gradients that a step would refuse.
fn check(params: &Params, masters: &Masters, grads: &Gradients) -> Result<(), Error> {
    let (params, grads) = (stand_in::parameters(params)?, stand_in::gradients(&grads.likes)?);
    Ok(check_step(&params, &masters.sample, &grads)?)
}

impl fmt::Debug for Masters {
    /// Prints no values, since printing must not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Masters(later)")
    }
}
