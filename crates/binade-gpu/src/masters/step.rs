//! Step of an optimizer: pairs of parameters and gradients.

use super::{Masters, ParamState};
use crate::{
    BufferOf, Found, Gpu, Gradients, Kernels, Result, StepState, Tensor, gradients::trained,
    kernels::no_sparse,
};
use binade_core::{DType, Named, SparseRows};
use binade_master_weights::{
    HostMasters, MasterWeights, Matched, OptimizerConfig, ParamInfo, UpdateRule, match_gradients,
    require_gradients,
};
use std::sync::{Arc, atomic::AtomicU64};

/// One step of an optimizer: parameters, their state, and the gradients that move them.
#[derive(Debug)]
pub struct Step<'a, D: Kernels> {
    /// The parameters, in their order.
    pub params: &'a [Named<Tensor<D>>],
    /// Names and rules, by id.
    pub kept: &'a HostMasters,
    /// Masters and moments, by id.
    pub states: &'a [ParamState<D>],
    /// Counts of applied steps, by number.
    pub counts: &'a BufferOf<D>,
    /// Number of steps that were asked for.
    pub attempts: &'a Arc<AtomicU64>,
    /// The gradient of each parameter.
    matched: &'a [Option<Matched>],
    /// The gradients.
    pub grads: &'a Gradients<D>,
    /// Found-inf result, by which the device applies or skips the step.
    pub found: &'a Found<D>,
}

/// Parameter that a step updates.
#[derive(Debug)]
pub struct StepParam<'a, D: Kernels> {
    /// The parameter.
    pub param: &'a Tensor<D>,
    /// Its master and moments.
    pub state: &'a ParamState<D>,
    /// Its rule.
    pub rule: &'a UpdateRule,
    /// Its gradient.
    pub grad: &'a Tensor<D>,
    /// The gradient's index in the set.
    pub place: usize,
    /// Rows that a sparse gradient has.
    pub rows: Option<&'a SparseRows<Tensor<D>>>,
}

impl<D: Kernels> Step<'_, D> {
    /// Returns the parameters that the step updates.
    pub fn moving(&self) -> impl Iterator<Item = StepParam<'_, D>> {
        self.params.iter().zip(self.matched).filter_map(|(param, matched)| {
            let Matched { id, grad: place } = (*matched)?;
            let grad = self.grads.entries.get(place)?.value.as_ref()?;
            let (state, rule) = (self.states.get(id)?, self.kept.rule(id)?);
            let rows = self.grads.rows.get(&place);
            Some(StepParam { param: &param.value, state, rule, grad, place, rows })
        })
    }

    /// Returns true if a rule of the step clips by the norm of all gradients together.
    pub fn clips(&self) -> bool {
        self.moving().any(|moving| moving.rule.needs_all_gradients())
    }
}

impl<D: Kernels> MasterWeights for Gpu<'_, D> {
    type Masters = Masters<D>;

    fn masters(
        &self,
        params: &mut Self::Params,
        config: &OptimizerConfig,
    ) -> Result<Masters<D>, D> {
        Masters::new(self.0, params, config)
    }

    fn set_config(&self, masters: &mut Masters<D>, config: &OptimizerConfig) -> Result<(), D> {
        masters.set_config(self.0, config)
    }

    fn step(
        &self,
        params: &mut Self::Params,
        masters: &mut Masters<D>,
        grads: Gradients<D>,
        found: &Found<D>,
    ) -> Result<(), D> {
        let device = self.0;
        grads.check_owner(device)?;
        device.check_owner(&masters.counts)?;
        device.check_owner(&found.bits)?;
        params.iter().try_for_each(|param| device.check_owner(param.value.buffer()))?;
        let matched = &masters.matched(params, &grads)?;
        if let Err(none) = require_gradients(matched) {
            // Other devices' gradients may have raised the result. Only here does a step wait for the device.
            return if found.is_raised(device)? { Ok(()) } else { Err(none.into()) };
        }
        // Other owners of a parameter keep its old bits.
        let moving = params.iter_mut().zip(matched).filter(|(_, grad)| grad.is_some());
        moving
            .map(|(param, _)| &mut param.value)
            .try_for_each(|value| device.own_parameter(value))?;
        let Masters { kept, states, counts, attempts, driver } = masters;
        let grads = &grads;
        driver.step(device, Step { params, kept, states, counts, attempts, matched, grads, found })
    }

    fn join(
        &self,
        params: &mut Self::Params,
        masters: &mut Masters<D>,
        more: Self::Params,
        config: &OptimizerConfig,
    ) -> Result<(), D> {
        masters.join(self.0, params, more, config)
    }
}

impl<D: Kernels> Masters<D> {
    /// Returns each parameter's gradient, or an error before any update if one does not fit.
    fn matched(
        &self,
        params: &[Named<Tensor<D>>],
        grads: &Gradients<D>,
    ) -> Result<Vec<Option<Matched>>, D> {
        for grad in grads.present() {
            trained::<D>("step with gradients of", grad.tensor.dtype())?;
        }
        let facts: Vec<ParamInfo<'_>> = params.iter().map(facts).collect();
        let matched = match_gradients(&facts, &self.kept, grads.shapes())?;
        for (param, matched) in params.iter().zip(&matched) {
            let Some(Matched { id, grad }) = matched else { continue };
            storable::<D>(param.value.dtype())?;
            if grads.rows.contains_key(grad) {
                self.kept.check_sparse(*id)?;
                if !D::STEPS_ROWS {
                    return Err(no_sparse::<D>());
                }
            }
        }
        Ok(matched)
    }
}

fn facts<D: Kernels>(param: &Named<Tensor<D>>) -> ParamInfo<'_> {
    ParamInfo { name: &param.name, dtype: param.value.dtype(), shape: param.value.shape() }
}

/// Returns `dtype` where parameters of it are trained.
pub(super) fn storable<D: Kernels>(dtype: DType) -> Result<DType, D> {
    trained::<D>("train parameters of", dtype)
}
