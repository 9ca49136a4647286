//! Dispatches of training except for those of the step: one for each part of each gradient.

use super::report::Report;
use crate::{
    Error, Found, Gradients, Result, Scale, Tensor, Wgpu,
    dispatch::{
        Bound, groups, parts,
        structs::{self, NO_GROUP, code, count},
    },
    gradients::{flag, flags, pending_factors, supported},
    masters::StepTables,
    memory::Buffer,
};
use binade_core::DType;
use binade_gpu::{
    Driver, GroupClip, Kernels, LogMaxBits, LossScaleBits, Materialise, ScaledMaster,
};
use binade_grad_scaler::{LossScale, MergeRule, Norm, ScaleState, ScaleStore};
use bytemuck::Zeroable;
use std::{ops::Range, sync::Arc};

impl Kernels for Wgpu {
    type StepState = StepTables;
    type Report = Report;
    type Readers = ();

    const MEASURES_OWED: bool = false;

    fn run_scale(&self, tensor: &Tensor, scale: &Buffer, inverse: bool) -> Result<Tensor, Error> {
        let (dtype, is_inverse) = (code("scale", tensor.dtype())?, u32::from(inverse));
        let result = self.unset(DType::F32, tensor.shape())?;
        for part in self.parts(tensor.len()) {
            let (input, start) = Bound::elements(tensor, part.clone());
            let (output, _) = Bound::elements(&result, part.clone());
            let params = structs::Times { len: count(part.len()), dtype, start, is_inverse };
            let bound = vec![input, Bound::whole(scale), output];
            self.dispatch("scale", &params, bound, groups(part.len()))?;
        }
        Ok(result)
    }

    fn run_update(&self, to: &mut Scale, found: &[&Found], parts: usize, by: &LossScale) -> Result {
        // The report of the last update has another owner by now, or none.
        to.report = None;
        let report = self.gathered(found)?;
        let bound = vec![Bound::whole(self.own(&mut to.bits)?), Bound::whole(&report)];
        let params = update_params([parts, found.len()].map(count), by);
        self.dispatch("scale_update", &params, bound, 1)?;
        to.report = Some(Arc::new(Report::send(self, &report, found)?));
        Ok(())
    }

    fn run_unscale(&self, grads: &Gradients, scale: &Buffer) -> Result<[Buffer; 2], Error> {
        let all: Vec<_> = grads.present().collect();
        self.look(grads, &all, scale)
    }

    fn run_merge(&self, into: &Buffer, from: &Buffer, join: MergeRule) -> Result<(), Error> {
        let params = structs::Merge { all: u32::from(join == MergeRule::All) };
        self.dispatch("merge", &params, [into, from].map(Bound::whole).into(), 1)
    }

    fn run_materialise(&self, pass: &Materialise<'_, Self>) -> Result<(), Error> {
        let (grads, limit) = (pass.grads, pass.limit);
        for (grad, result, group) in pass.entries() {
            let dtype = supported("materialise gradients of", grad.tensor)?;
            let (flag, group) = (flag(grads, grad.place), group.unwrap_or(NO_GROUP));
            for part in self.parts(result.len()) {
                let (values, start) = Bound::elements(grad.tensor, part.clone());
                let (output, _) = Bound::elements(result, part.clone());
                let len = count(part.len());
                let params = structs::Materialise { len, dtype, start, flag, group, limit };
                let factors = pass.factors.unwrap_or(&self.fixed()?.there);
                let (flags, owed) = (flags(grads, self)?, pending_factors(grads, self)?);
                let bound = vec![values, flags, owed, Bound::whole(factors), output];
                self.dispatch("materialise", &params, bound, groups(part.len()))?;
            }
        }
        Ok(())
    }

    /// A dispatch for each part of each gradient, and one that marks its sum.
    fn run_sum(&self, sum: &Gradients, grads: &Gradients, found: &Buffer) -> Result<(), Error> {
        for grad in grads.present() {
            let dtype = supported("add gradients of", grad.tensor)?;
            let total = sum.entries.get(grad.place).and_then(|entry| entry.value.as_ref());
            let Some(total) = total else { continue };
            let (begun, there) = (flag(sum, grad.place), flag(grads, grad.place));
            let state = || -> Result<_, Error> {
                Ok([flags(grads, self)?, Bound::whole(found), pending_factors(grads, self)?])
            };
            for part in self.parts(total.len()) {
                let (values, start) = Bound::elements(grad.tensor, part.clone());
                let (output, sum_start) = Bound::elements(total, part.clone());
                let len = count(part.len());
                let params = structs::Accumulate { len, dtype, start, sum_start, begun, there };
                let [also, found, owed] = state()?;
                let bound = vec![values, also, found, owed, output, flags(sum, self)?];
                self.dispatch("accumulate", &params, bound, groups(part.len()))?;
            }
            let params = structs::Accumulate { begun, there, ..structs::Accumulate::zeroed() };
            let [also, found, _] = state()?;
            self.dispatch("accumulate_mark", &params, vec![also, found, flags(sum, self)?], 1)?;
        }
        Ok(())
    }

    fn scaled_master(&self, values: &Tensor) -> Result<ScaledMaster<Self>, Error> {
        self.new_scaled_master(values)
    }

    /// Dispatches one invocation, which computes the clip factor from numbers on the device.
    fn run_clip(&self, verdict: &Buffer, owed: &Buffer, norm: Norm, max: f32) -> Result<(), Error> {
        let params = structs::Clip { norm: u32::from(norm == Norm::Infinity), most: max };
        self.dispatch("clip", &params, [verdict, owed].map(Bound::whole).into(), 1)
    }

    /// Measures each group as a set is measured.
    fn run_group_norms(&self, clip: &GroupClip<'_, Self>) -> Result<(), Error> {
        let one = self.upload_state(ScaleState::from_exponent(0))?;
        for (place, (group, members)) in clip.groups.iter().enumerate() {
            let params = structs::ClipOfGroup {
                norm: u32::from(group.norm == Norm::Infinity),
                most: group.max,
                name: self.names().number(&group.norm_name()),
                place: count(place),
            };
            let [_, owed] = self.look(clip.grads, members, &one.bits)?;
            let bound = [clip.verdict, &owed, clip.factors].map(Bound::whole);
            self.dispatch("clip_group", &params, bound.into(), 1)?;
        }
        Ok(())
    }
}

impl Wgpu {
    /// Parts of a tensor of so many elements, of at most four bytes each.
    pub(super) fn parts(&self, len: usize) -> impl Iterator<Item = Range<usize>> {
        parts(len, 4, self.facts().most_binding_bytes)
    }
}

fn update_params([parts, count]: [u32; 2], rule: &LossScale) -> structs::Update {
    let rule = LossScaleBits::from(rule);
    let LogMaxBits { ceiling, deviations, weight, slow_weight } = rule.log_max;
    structs::Update {
        growth: rule.growth,
        backoff: rule.backoff,
        min: rule.min,
        max: rule.max,
        growth_interval: rule.growth_interval,
        patience: rule.patience,
        tolerance: rule.tolerance,
        amount: rule.amount,
        ceiling,
        deviations,
        weight,
        slow_weight,
        predicts: rule.predicts,
        parts,
        count,
        pad: 0,
    }
}
