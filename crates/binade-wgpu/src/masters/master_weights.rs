//! Keeping masters, and deciding which gradient goes where.

use super::{Masters, rules::Rules, table::Table};
use crate::{
    Error, Found, Gradients, Tensor, Wgpu,
    dispatch::structs::{AppliedRow, MOVE},
    gradients::supported,
};
use binade_core::{DType, GradSet, Named};
use binade_gpu::{Driver, ParamState, check_plan};
use binade_master_weights::{Facts, HostMasters, MasterWeights, Matched, Plan, matched, some};

impl MasterWeights for Wgpu {
    type Masters = Masters;

    fn masters(&self, params: &mut Vec<Named<Tensor>>, plan: &Plan) -> Result<Masters, Error> {
        check_plan::<Self>(plan)?;
        params.iter().try_for_each(|param| self.has_made(param.value.buffer()))?;
        let mut kept = HostMasters::new(plan, params.iter().map(|param| &*param.name))?;
        let Started { slots, lowered } = Started::new(self, &mut kept, params, plan, 0)?;
        let count = lowered.len().max(1);
        let applied = self.zeros(size_of::<AppliedRow>() * count)?;
        let moves = self.buffer(MOVE * count)?;
        let nothing = [self.buffer(4)?, self.buffer(4)?, self.buffer(4)?, self.buffer(4)?];
        params.iter_mut().zip(lowered).for_each(|(param, low)| param.value = low);
        let (rules, asked) = (Rules::default(), Table::default());
        let counts_lost = plan.counts_lost_updates();
        Ok(Masters { kept, slots, rules, asked, applied, moves, nothing, counts_lost, attempts: 0 })
    }

    fn set_plan(&self, masters: &mut Masters, plan: &Plan) -> Result<(), Error> {
        check_plan::<Self>(plan)?;
        self.has_made(&masters.applied)?;
        masters.kept.set_plan(plan)?;
        masters.rules.clear();
        masters.count_lost(self, plan.counts_lost_updates())
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
        masters.attempts += 1;
        // What someone else holds of a parameter keeps its bits.
        let moving = params.iter_mut().zip(&matched).filter(|(_, gradient)| gradient.is_some());
        for (param, _) in moving {
            self.own_parameter(&mut param.value)?;
        }
        masters.step(self, params, &matched, (&grads, found))
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
        let mut kept = masters.kept.joining(plan, more.iter().map(|param| &*param.name))?;
        let before = masters.slots.len();
        let first = u32::try_from(before).unwrap_or(u32::MAX);
        let Started { slots, lowered } = Started::new(self, &mut kept, &more, plan, first)?;
        // The last that can fail, so that a join that is refused has changed nothing that is seen.
        let count = before + lowered.len();
        let applied = self.zeros(size_of::<AppliedRow>() * count.max(1))?;
        let moves = self.buffer(MOVE * count.max(1))?;
        // Before the counts go over, so that what it clears is cleared there too.
        masters.count_lost(self, plan.counts_lost_updates())?;
        if before > 0 {
            self.copy_to(&masters.applied, &applied, 0, size_of::<AppliedRow>() * before)?;
        }

        (masters.applied, masters.moves) = (applied, moves);
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
    pub(super) slots: Vec<ParamState<Wgpu>>,
    /// The parameters as they are to be stored.
    pub(super) lowered: Vec<Tensor>,
}

impl Started {
    /// Of `params`, told to `kept` and numbered from `first` on.
    pub(super) fn new(
        wgpu: &Wgpu,
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
                ParamState::new(wgpu, number, &param.value, (plan.store(), stored), rule)?;
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
    match dtype {
        DType::BF16 | DType::F16 | DType::F32 => Ok(dtype),
        dtype => Err(Error::Unsupported { what: "train parameters of", dtype }),
    }
}
