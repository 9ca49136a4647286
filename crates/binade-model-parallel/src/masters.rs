//! Masters of each device, and the parameters of all.

use crate::{
    DeviceTensor, ModelDevice, ModelFound, ModelGradients, ModelParallel, ModelParallelError,
    gradients::{Divided, ordered},
    handle::Failed,
};
use binade_core::{DType, Handle, Named};
use binade_master_weights::{
    HostMasters, MasterWeights, OptimizerConfig, ParamInfo, match_gradients,
};
use std::{
    collections::{HashMap, HashSet},
    mem,
};

/// Masters and moments of each device's parameters.
#[derive(Debug)]
pub struct ModelMasters<M> {
    pub(crate) parts: Vec<M>,
    /// Names, types and rules of all parameters, used to check a call before any device changes.
    kept: HostMasters,
    /// Device of each parameter, by id.
    homes: Vec<usize>,
}

impl<M> ModelMasters<M> {
    /// Returns the masters of each device, in the order of the devices.
    pub fn parts(&self) -> &[M] {
        &self.parts
    }

    /// Returns the configuration for the parameters of one device.
    fn config_of(&self, device: usize, config: &OptimizerConfig) -> OptimizerConfig {
        let is_here =
            |name: &str| self.kept.id(name).is_some_and(|id| self.homes.get(id) == Some(&device));
        config.restricted_to(is_here)
    }
}

/// Parameters of a model, each on its device.
pub(crate) type Params<D> = Vec<Named<DeviceTensor<<D as Handle>::Tensor>>>;

/// Parameters of each device.
type Sets<D> = Vec<Vec<Named<<D as Handle>::Tensor>>>;

impl<D: ModelDevice> MasterWeights for ModelParallel<D> {
    type Masters = ModelMasters<D::Masters>;

    fn masters(
        &self,
        params: &mut Params<D>,
        config: &OptimizerConfig,
    ) -> Result<Self::Masters, Failed<D>> {
        config.check_parts().map_err(ModelParallelError::Config)?;
        let names = params.iter().map(|param| &*param.name);
        let mut kept = HostMasters::new(config, names).map_err(ModelParallelError::Config)?;
        let parts = self.with_params(params, |sets| {
            self.each(|number, device| {
                let own = restricted(config, &[&sets[number]]);
                device.masters(&mut sets[number], &own)
            })
        })?;
        self.declare(&mut kept, params)?;
        self.remember(params);
        Ok(ModelMasters { parts, kept, homes: devices_of(params) })
    }

    fn set_config(
        &self,
        masters: &mut Self::Masters,
        config: &OptimizerConfig,
    ) -> Result<(), Failed<D>> {
        self.fits(masters.parts.len())?;
        config.check_parts().map_err(ModelParallelError::Config)?;
        let mut kept = masters.kept.clone();
        kept.set_config(config).map_err(ModelParallelError::Config)?;
        let configs: Vec<_> =
            (0..masters.parts.len()).map(|device| masters.config_of(device, config)).collect();
        self.change(|number, device| {
            device.set_config(&mut masters.parts[number], &configs[number])
        })?;
        masters.kept = kept;
        Ok(())
    }

    fn step(
        &self,
        params: &mut Params<D>,
        masters: &mut Self::Masters,
        grads: ModelGradients<D>,
        found: &ModelFound<D::Found>,
    ) -> Result<(), Failed<D>> {
        self.fits(masters.parts.len())?;
        self.fits(found.parts.len())?;
        let divided = self.take_divided(grads)?;
        self.check_step(params, &masters.kept, &divided)?;
        let moving = self.moving(&divided, params);
        let mut parts: Vec<_> = divided.parts.into_iter().map(Some).collect();
        self.with_params(params, |sets| {
            let step = |number: usize, device: &D| match parts[number].take() {
                Some(grads) if moving.contains(&number) => {
                    let (set, masters) = (&mut sets[number], &mut masters.parts[number]);
                    device.step(set, masters, grads, &found.parts[number])
                }
                _ => Ok(()),
            };
            // If only one device steps, its error leaves everything unchanged.
            let done = if moving.len() == 1 { self.each(step) } else { self.change(step) };
            done.map(drop)
        })
    }

    fn join(
        &self,
        params: &mut Params<D>,
        masters: &mut Self::Masters,
        mut more: Params<D>,
        config: &OptimizerConfig,
    ) -> Result<(), Failed<D>> {
        self.fits(masters.parts.len())?;
        let names = more.iter().map(|param| &*param.name);
        config.check_parts().map_err(ModelParallelError::Config)?;
        let joining = masters.kept.joining(config, names);
        let mut joined = joining.map_err(ModelParallelError::Config)?;
        let ModelMasters { parts, kept, homes } = masters;
        self.with_params(params, |sets| {
            self.with_params(&mut more, |new| {
                let join = |number: usize, device: &D| {
                    let (set, new) = (&mut sets[number], &mut new[number]);
                    let own = restricted(config, &[&*set, &*new]);
                    let count = set.len();
                    let done = device.join(set, &mut parts[number], mem::take(new), &own);
                    *new = set.split_off(count.min(set.len()));
                    done
                };
                self.change(join).map(drop)
            })
        })?;
        self.declare(&mut joined, &more)?;
        kept.absorb(joined);
        homes.extend(devices_of(&more));
        self.remember(&more);
        params.append(&mut more);
        Ok(())
    }
}

impl<D: ModelDevice> ModelParallel<D> {
    /// Checks, before any device steps, that every gradient fits its parameter and is on the same device.
    fn check_step(
        &self,
        params: &Params<D>,
        kept: &HostMasters,
        grads: &Divided<D>,
    ) -> Result<(), Failed<D>> {
        let shapes: Vec<Vec<usize>> =
            params.iter().map(|param| self.of(&param.value).shape(&param.value.tensor)).collect();
        let info = |(param, shape)| {
            let Named { name, value }: &Named<DeviceTensor<D::Tensor>> = param;
            ParamInfo { name, dtype: self.dtype_of(value), shape }
        };
        let shapes = shapes.iter().map(Vec::as_slice);
        let infos: Vec<ParamInfo<'_>> = params.iter().zip(shapes).map(info).collect();
        match_gradients(&infos, kept, grads.shapes()).map_err(ModelParallelError::Mismatch)?;
        let homes: HashMap<&str, usize> =
            params.iter().map(|param| (&*param.name, param.value.device)).collect();
        for entry in &grads.model {
            let (found, parameter) = (entry.device, entry.name.clone());
            if let Some(&expected) = homes.get(&*entry.name).filter(|home| **home != found) {
                let owner = "the parameter";
                return Err(ModelParallelError::GradientDevice {
                    parameter,
                    found,
                    owner,
                    expected,
                });
            }
        }
        Ok(())
    }

    /// Returns the devices that have gradients. If none has, it returns the first device with parameters, which reports the error or skips.
    fn moving(&self, grads: &Divided<D>, params: &Params<D>) -> Vec<usize> {
        let sets = self.devices().iter().zip(&grads.parts).enumerate();
        let moving = sets.filter(|(_, (device, set))| device.has_gradients(set));
        let moving: Vec<usize> = moving.map(|(number, _)| number).collect();
        if !moving.is_empty() {
            return moving;
        }
        params.iter().map(|param| param.value.device).min().into_iter().collect()
    }

    fn dtype_of(&self, tensor: &DeviceTensor<D::Tensor>) -> DType {
        self.of(tensor).dtype(&tensor.tensor)
    }

    /// Adds parameters to those that calls are checked against.
    fn declare(&self, kept: &mut HostMasters, params: &Params<D>) -> Result<(), Failed<D>> {
        for Named { name, value } in params {
            let len = self.of(value).element_count(&value.tensor);
            let declared = kept.declare(name, len, self.dtype_of(value));
            declared.map_err(ModelParallelError::Config)?;
        }
        Ok(())
    }

    /// Passes each device's parameters to `call`. They are moved there and back: a clone would share the storage, which would then be copied before a
    /// write.
    pub(crate) fn with_params<T>(
        &self,
        params: &mut Params<D>,
        call: impl FnOnce(&mut Sets<D>) -> Result<T, Failed<D>>,
    ) -> Result<T, Failed<D>> {
        params.iter().try_for_each(|param| self.device(param.value.device).map(drop))?;
        let homes = devices_of(params);
        let mut sets: Sets<D> = self.devices().iter().map(|_| Vec::new()).collect();
        for Named { name, value } in mem::take(params) {
            sets[value.device].push(Named { name, value: value.tensor });
        }
        let done = call(&mut sets);
        *params = whole::<D>(&homes, sets);
        done
    }

    /// Returns each device's values for its parameters, in the model's order.
    pub(crate) fn of_params<T>(
        &self,
        params: &Params<D>,
        mut call: impl FnMut(usize, &D, &Vec<Named<D::Tensor>>) -> Result<Vec<T>, D::Error>,
    ) -> Result<Vec<T>, Failed<D>> {
        let sets = self.sets_of(params)?;
        let lists = self.each(|number, device| call(number, device, &sets[number]))?;
        Ok(ordered(devices_of(params).into_iter(), lists))
    }

    /// Returns clones of each device's parameters.
    pub(crate) fn sets_of(&self, params: &Params<D>) -> Result<Sets<D>, Failed<D>> {
        self.with_params(&mut params.clone(), |sets| Ok(mem::take(sets)))
    }
}

/// Returns the device of each parameter.
fn devices_of<T>(params: &[Named<DeviceTensor<T>>]) -> Vec<usize> {
    params.iter().map(|param| param.value.device).collect()
}

/// Returns the parameters of all devices, in the model's order.
fn whole<D: Handle>(homes: &[usize], sets: Sets<D>) -> Params<D> {
    let on = |(device, set): (usize, Vec<Named<D::Tensor>>)| {
        let tensor = |tensor| DeviceTensor { tensor, device };
        set.into_iter().map(|it| Named { name: it.name, value: tensor(it.value) }).collect()
    };
    ordered(homes.iter().copied(), sets.into_iter().enumerate().map(on).collect())
}

/// Returns the configuration for these parameters only.
fn restricted<T>(config: &OptimizerConfig, sets: &[&Vec<Named<T>>]) -> OptimizerConfig {
    let names: HashSet<&str> =
        sets.iter().flat_map(|set| set.iter()).map(|param| &*param.name).collect();
    config.restricted_to(|name| names.contains(name))
}
