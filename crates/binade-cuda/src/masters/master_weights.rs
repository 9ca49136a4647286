//! Keeping masters, and deciding which gradient goes where.

use super::{Masters, lost::Lost, rules::Rules, step::Moves};
use crate::{
    Cuda, Error, Found, Gradients, Tensor,
    gradients::{supported, trained},
    launch::structs::CONSTANTS,
};
use binade_core::{DType, GradSet, Named};
use binade_gpu::{Driver, ParamState, check_plan};
use binade_master_weights::{Facts, HostMasters, MasterWeights, Matched, Plan, matched, some};
use std::sync::Arc;

impl MasterWeights for Cuda {
    type Masters = Masters;

    fn masters(&self, params: &mut Vec<Named<Tensor>>, plan: &Plan) -> Result<Masters, Error> {
        check_plan::<Self>(plan)?;
        params.iter().try_for_each(|param| self.has_made(param.value.buffer()))?;
        let mut kept = HostMasters::new(plan, params.iter().map(|param| &*param.name))?;
        let Started { slots, lowered } = Started::new(self, &mut kept, params, plan, 0)?;
        let applied = self.zeros(8 * lowered.len())?;
        let constants = self.buffer(CONSTANTS * lowered.len())?;
        let lost = Lost::new(self, lowered.len(), plan.counts_lost_updates())?;
        params.iter_mut().zip(lowered).for_each(|(param, low)| param.value = low);
        let (rules, attempts) = (Rules::default(), Arc::default());
        Ok(Masters { kept, slots, rules, applied, constants, lost, attempts })
    }

    fn set_plan(&self, masters: &mut Masters, plan: &Plan) -> Result<(), Error> {
        check_plan::<Self>(plan)?;
        self.has_made(&masters.applied)?;
        masters.can_be_told(self, plan)?;
        let counted = plan.counts_lost_updates();
        let lost = masters.lost.next(self, masters.slots.len(), counted)?;
        masters.kept.set_plan(plan)?;
        masters.lost = lost;
        masters.rules.clear();
        // A captured step reads it at each replay.
        masters.write_fixed(self)
    }

    fn step(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut Masters,
        grads: Gradients,
        found: &Found,
    ) -> Result<(), Error> {
        grads.check_owner(self)?;
        self.has_made(&masters.applied)?;
        self.has_made(found.buffer())?;
        params.iter().try_for_each(|param| self.has_made(param.value.buffer()))?;
        let matched = matched_gradients(params, masters, &grads)?;
        if let Err(none) = some(&matched) {
            // Other devices' gradients may have raised it. Only here does a step wait for what the device knows.
            return if self.is_raised(found)? { Ok(()) } else { Err(none.into()) };
        }
        masters.count(self);
        masters.fix(self)?;
        let mut moves = Moves::new(&grads, &matched);
        for (param, matched) in params.iter_mut().zip(&matched) {
            let Some(matched) = matched else { continue };
            // What someone else holds of the parameter keeps its bits.
            param.value.own(self)?;
            moves.add(&param.value, masters, &grads, *matched)?;
        }
        moves.run(self, masters, &grads, found)
    }

    /// Counts go over on the device, so that nothing is waited for but where `masters` would wait too.
    fn join(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut Masters,
        mut more: Vec<Named<Tensor>>,
        plan: &Plan,
    ) -> Result<(), Error> {
        check_plan::<Self>(plan)?;
        self.has_made(&masters.applied)?;
        more.iter().try_for_each(|param| self.has_made(param.value.buffer()))?;
        masters.can_join(self, plan, more.iter().map(|param| &*param.name))?;
        let mut kept = masters.kept.joining(plan, more.iter().map(|param| &*param.name))?;
        let first = u32::try_from(masters.slots.len()).unwrap_or(u32::MAX);
        let Started { slots, lowered } = Started::new(self, &mut kept, &more, plan, first)?;
        // The last that can fail, so that a join that is refused has changed nothing.
        let count = masters.slots.len() + lowered.len();
        let applied = self.grown(&masters.applied, 8 * count)?;
        let constants = self.buffer(CONSTANTS * count)?;
        let lost = masters.lost.next(self, count, plan.counts_lost_updates())?;

        // Constants are made anew in every step; whoever gets the memory of the old ones comes behind those that read them.
        (masters.applied, masters.constants, masters.lost) = (applied, constants, lost);
        masters.kept.absorb(kept);
        masters.slots.extend(slots);
        masters.rules.clear();
        more.iter_mut().zip(lowered).for_each(|(param, low)| param.value = low);
        params.append(&mut more);
        Ok(())
    }
}

/// Parameters whose masters are made, of which nothing is in place yet.
pub(super) struct Started {
    pub(super) slots: Vec<ParamState<Cuda>>,
    /// The parameters as they are to be stored.
    pub(super) lowered: Vec<Tensor>,
}

impl Started {
    /// Of `params`, told to `kept` and numbered from `first` on.
    pub(super) fn new(
        cuda: &Cuda,
        kept: &mut HostMasters,
        params: &[Named<Tensor>],
        plan: &Plan,
        first: u32,
    ) -> Result<Self, Error> {
        let mut started = Self { slots: Vec::new(), lowered: Vec::new() };
        for (number, param) in (first..).zip(params) {
            let now = storable(param.value.dtype())?;
            let stored = storable(plan.dtype_of(&param.name, now))?;
            let rule = plan.rule_for(&param.name);
            kept.declare(&param.name, param.value.len(), stored)?;
            let (slot, low) =
                ParamState::new(cuda, number, &param.value, (plan.store(), stored), rule)?;
            started.slots.push(slot);
            started.lowered.push(low);
        }
        Ok(started)
    }
}

/// Returns each parameter's gradient; all of them fit, or an error before anything has moved.
fn matched_gradients(
    params: &[Named<Tensor>],
    masters: &Masters,
    grads: &Gradients,
) -> Result<Vec<Option<Matched>>, Error> {
    for grad in grads.present() {
        supported("step with gradients of", grad.tensor)?;
    }
    let facts: Vec<Facts<'_>> = params.iter().map(facts).collect();
    let shapes = grads.entries.iter();
    let shapes = shapes.map(|entry| (&entry.name, entry.value.as_ref().map(Tensor::shape)));
    let matched = matched(&facts, &masters.kept, shapes)?;
    for (param, gradient) in params.iter().zip(&matched) {
        if gradient.is_some() {
            storable(param.value.dtype())?;
        }
    }
    Ok(matched)
}

fn facts(param: &Named<Tensor>) -> Facts<'_> {
    Facts { name: &param.name, dtype: param.value.dtype(), shape: param.value.shape() }
}

fn storable(dtype: DType) -> Result<DType, Error> {
    trained("train parameters of", dtype)
}
