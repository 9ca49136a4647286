//! Masters of new parameters, and configurations that change.

use super::{Masters, ParamState, step::storable};
use crate::{Error, Kernels, Result, StepState, Tensor};
use binade_core::Named;
use binade_master_weights::{HostMasters, OptimizerConfig};
use std::sync::Arc;

impl<D: Kernels> Masters<D> {
    /// Makes masters and stores the parameters as `config` says.
    pub(super) fn new(
        device: &D,
        params: &mut [Named<Tensor<D>>],
        config: &OptimizerConfig,
    ) -> Result<Self, D> {
        params.iter().try_for_each(|param| device.check_owner(param.value.buffer()))?;
        config.check_kernels(D::NAME, D::steps_by, D::takes_bf16_state)?;
        let mut kept = HostMasters::new(config, params.iter().map(|param| &*param.name))?;
        let states = new_states(device, &mut kept, params, config, 0)?;
        let counts = device.zeros(Self::count_bytes(states.len()))?;
        let driver = D::StepState::new(device, states.len(), config.counts_lost_updates)?;
        let states = put_in_place(params, states);
        Ok(Self { kept, states, counts, attempts: Arc::default(), driver })
    }

    /// Sets another configuration, which applies from the next step on.
    pub(super) fn set_config(&mut self, device: &D, config: &OptimizerConfig) -> Result<(), D> {
        device.check_owner(&self.counts)?;
        config.check_kernels(D::NAME, D::steps_by, D::takes_bf16_state)?;
        self.driver.admits(device, &self.kept, config, &[])?;
        self.kept.set_config(config)?;
        let parameters = [self.states.len(); 2];
        self.driver.change(device, &self.counts, parameters, config.counts_lost_updates)?;
        self.driver.plan_changed(device, &self.kept)
    }

    /// Adds parameters, and applies `config` to all from the next step on. It changes nothing if it fails. Counts are copied on the device, so it
    /// waits only where [`new`](Self::new) would wait too.
    pub(super) fn join(
        &mut self,
        device: &D,
        params: &mut Vec<Named<Tensor<D>>>,
        mut more: Vec<Named<Tensor<D>>>,
        config: &OptimizerConfig,
    ) -> Result<(), D> {
        device.check_owner(&self.counts)?;
        more.iter().try_for_each(|param| device.check_owner(param.value.buffer()))?;
        config.check_kernels(D::NAME, D::steps_by, D::takes_bf16_state)?;
        let names: Vec<&str> = more.iter().map(|param| &*param.name).collect();
        self.driver.admits(device, &self.kept, config, &names)?;
        let mut kept = self.kept.joining(config, names.into_iter())?;
        let before = self.states.len();
        let first = u32::try_from(before).unwrap_or(u32::MAX);
        let states = new_states(device, &mut kept, &more, config, first)?;
        let count = before + states.len();
        let counts = device.grown(&self.counts, Self::count_bytes(count))?;
        // The last call that can fail, so that a refused join has changed nothing.
        self.driver.change(device, &counts, [before, count], config.counts_lost_updates)?;

        self.counts = counts;
        self.kept.absorb(kept);
        self.states.extend(put_in_place(&mut more, states));
        params.append(&mut more);
        Ok(())
    }

    /// Returns the bytes of the counts of this many parameters, and at least of one, since no kernel takes an empty buffer.
    pub(super) fn count_bytes(parameters: usize) -> usize {
        D::StepState::COUNT_BYTES * parameters.max(1)
    }
}

/// State of a new parameter, and the parameter as it is to be stored.
type NewState<D> = (ParamState<D>, Tensor<D>);

/// Returns the states of `params`, which are added to `kept` and numbered from `first` on.
fn new_states<D: Kernels>(
    device: &D,
    kept: &mut HostMasters,
    params: &[Named<Tensor<D>>],
    config: &OptimizerConfig,
    first: u32,
) -> Result<Vec<NewState<D>>, D> {
    check_writable(device, params)?;
    let one = |(number, param): (u32, &Named<Tensor<D>>)| {
        let now = storable::<D>(param.value.dtype())?;
        let stored = storable::<D>(config.dtype_of(&param.name, now))?;
        if stored != now {
            device.check_owned(param.value.buffer())?;
        }
        kept.declare(&param.name, param.value.len(), stored)?;
        ParamState::new(device, number, param, stored, config)
    };
    (first..).zip(params).map(one).collect()
}

/// Returns an error for a parameter in memory that another program has lent read-only.
pub(super) fn check_writable<D: Kernels>(device: &D, params: &[Named<Tensor<D>>]) -> Result<(), D> {
    match params.iter().find(|param| !device.is_writable(param.value.buffer())) {
        Some(param) => Err(Error::ReadOnly { name: param.name.clone() }),
        None => Ok(()),
    }
}

/// Stores the parameters, and returns their states.
fn put_in_place<D: Kernels>(
    params: &mut [Named<Tensor<D>>],
    states: Vec<NewState<D>>,
) -> Vec<ParamState<D>> {
    let store = |(param, (state, stored)): (&mut Named<Tensor<D>>, (_, _))| {
        param.value = stored;
        state
    };
    params.iter_mut().zip(states).map(store).collect()
}
