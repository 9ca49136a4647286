//! Masters on each device, stepped alike; saved from the first device, and loaded to all.

use super::{JointGradients, Parts, Replicas, parts::absent};
use crate::{Cuda, CudaError, Error, Found, Masters, Tensor};
use binade_core::Named;
use binade_master_weights::{
    LoadError, MasterWeights, OptimizerConfig, ParameterSpec, SavedParameter, Snapshot,
};

/// Parameters with a part on each device.
pub(super) type Params = Vec<Named<Parts<Tensor>>>;

impl MasterWeights for Replicas {
    type Masters = Parts<Masters>;

    fn masters(
        &self,
        params: &mut Params,
        config: &OptimizerConfig,
    ) -> Result<Parts<Masters>, Error> {
        self.on_each(params, |_, cuda, params| cuda.masters(params, config))
    }

    fn set_config(
        &self,
        masters: &mut Parts<Masters>,
        config: &OptimizerConfig,
    ) -> Result<(), Error> {
        self.change(|place, cuda| cuda.set_config(masters.on_mut(place)?, config)).map(drop)
    }

    fn step(
        &self,
        params: &mut Params,
        masters: &mut Parts<Masters>,
        grads: JointGradients,
        found: &Parts<Found>,
    ) -> Result<(), Error> {
        self.refuse_capture("step")?;
        // Each device's own would drive the replicas apart.
        if !grads.is_joint {
            return Err(Error::Driver(CudaError::NotAveraged));
        }
        let step = |place, cuda: &Cuda, params: &mut Vec<Named<Tensor>>| {
            let own = grads.on(place)?.clone();
            cuda.step(params, masters.on_mut(place)?, own, found.on(place)?)
        };
        self.on_each(params, step).map(drop)
    }

    fn join(
        &self,
        params: &mut Params,
        masters: &mut Parts<Masters>,
        mut more: Params,
        config: &OptimizerConfig,
    ) -> Result<(), Error> {
        let mut joining = self.split(&mut more)?.into_iter();
        let mut joined = Vec::new();
        let join = |place, cuda: &Cuda, params: &mut Vec<Named<Tensor>>| {
            let count = params.len();
            let more = joining.next().unwrap_or_default();
            cuda.join(params, masters.on_mut(place)?, more, config)?;
            joined.push(params.split_off(count));
            Ok(())
        };
        self.on_each(params, join)?;
        rejoin(&mut more, joined);
        params.append(&mut more);
        Ok(())
    }
}

impl Snapshot for Replicas {
    fn specs(
        &self,
        params: &Params,
        masters: &Parts<Masters>,
    ) -> Result<Vec<ParameterSpec>, Error> {
        self.first(|cuda| cuda.specs(&first(params)?, masters.on(0)?))
    }

    fn save(
        &self,
        params: &Params,
        masters: &Parts<Masters>,
    ) -> Result<Vec<SavedParameter>, Error> {
        self.first(|cuda| cuda.save(&first(params)?, masters.on(0)?))
    }

    fn load(
        &self,
        params: &mut Params,
        masters: &mut Parts<Masters>,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Error>> {
        // Misfits are errors in the words of all devices, and methods that a device lacks in its own.
        let mut misfit = None;
        let loaded = self.on_each(params, |place, cuda, params| {
            match cuda.load(params, masters.on_mut(place)?, saved) {
                Ok(()) => Ok(()),
                Err(LoadError::Device(error)) => Err(error),
                Err(LoadError::SpecMismatch(why)) => {
                    let cause = why.to_string();
                    misfit = Some(why);
                    Err(Error::Driver(CudaError::Apart { cause }))
                }
            }
        });
        match (loaded, misfit) {
            (Ok(_), _) => Ok(()),
            (Err(_), Some(misfit)) => Err(misfit.into()),
            (Err(error), None) => Err(LoadError::Device(error)),
        }
    }

    /// The first device's.
    fn export_f32(
        &self,
        params: &Params,
        masters: &Parts<Masters>,
    ) -> Result<Vec<Named<Vec<f32>>>, Error> {
        self.first(|cuda| cuda.export_f32(&first(params)?, masters.on(0)?))
    }
}

impl Replicas {
    /// Does the same on each device with its own parameters, which are moved there and back: a clone would be a reader, and
    /// what is read is copied before it is written to.
    pub(super) fn on_each<T>(
        &self,
        params: &mut Params,
        mut work: impl FnMut(usize, &Cuda, &mut Vec<Named<Tensor>>) -> Result<T, Error>,
    ) -> Result<Parts<T>, Error> {
        self.together()?;
        let mut sets = self.split(params)?;
        let outcome = self.change(|place, cuda| {
            work(place, cuda, sets.get_mut(place).ok_or_else(|| absent(place, place))?)
        });
        rejoin(params, sets);
        outcome
    }

    /// Each device's parts, taken out of where they were.
    fn split(&self, params: &mut Params) -> Result<Vec<Vec<Named<Tensor>>>, Error> {
        let devices = self.devices().len();
        if let Some(odd) = params.iter().find(|param| param.value.0.len() != devices) {
            return Err(Error::Driver(CudaError::Parts { found: odd.value.0.len(), devices }));
        }
        let mut sets: Vec<_> = (0..devices).map(|_| Vec::with_capacity(params.len())).collect();
        for Named { name, value } in params {
            for (set, part) in sets.iter_mut().zip(std::mem::take(&mut value.0)) {
                set.push(Named { name: name.clone(), value: part });
            }
        }
        Ok(sets)
    }

    /// Returns what `ask` returns for the first device.
    pub(super) fn first<T>(&self, ask: impl FnOnce(&Cuda) -> Result<T, Error>) -> Result<T, Error> {
        self.together()?;
        let cuda = self.devices().first().ok_or(Error::Driver(CudaError::NoReplicas))?;
        ask(cuda).map_err(|error| self.on_replica(0, error))
    }
}

/// Puts each device's parts back into the joint parameters.
fn rejoin(params: &mut Params, sets: Vec<Vec<Named<Tensor>>>) {
    for set in sets {
        for (param, part) in params.iter_mut().zip(set) {
            param.value.0.push(part.value);
        }
    }
}

/// Returns the first device's parameters.
pub(super) fn first(params: &Params) -> Result<Vec<Named<Tensor>>, Error> {
    let part = |param: &Named<Parts<Tensor>>| {
        Ok(Named { name: param.name.clone(), value: param.value.on(0)?.clone() })
    };
    params.iter().map(part).collect()
}
