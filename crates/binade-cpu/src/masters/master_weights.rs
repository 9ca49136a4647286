//! Keeping masters, and stepping them.

use super::fused::{self, Move};
use crate::{Cpu, Error, Gradients, Tensor, gradients::supported};
use binade_core::{DType, Finding, Named, NoGradients};
use binade_master_weights::{
    ExportF32, Facts, HostMasters, Join, MasterWeights, Materialise, Plan, Slot, StepConstants,
    some,
};
use half::{bf16, f16};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

impl MasterWeights for Cpu {
    type Masters = HostMasters;

    fn masters(&self, params: &mut Vec<Named<Tensor>>, plan: &Plan) -> Result<HostMasters, Error> {
        let mut masters = HostMasters::new(plan, params.iter().map(|param| &*param.name))?;
        let lowered = started(&mut masters, params, plan)?;
        params.iter_mut().zip(lowered).for_each(|(param, low)| param.value = low);
        Ok(masters)
    }

    fn set_plan(&self, masters: &mut HostMasters, plan: &Plan) -> Result<(), Error> {
        Ok(masters.set_plan(plan)?)
    }

    fn step(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut HostMasters,
        grads: Gradients,
        found: &Finding,
    ) -> Result<(), Error> {
        // Before the skip, so that a set that does not fit is told at the first step, which in f16 is often skipped.
        let matched = matched(params, masters, &grads)?;
        if found.is_raised() {
            return Ok(());
        }
        some(&matched)?;
        let mut slots: HashMap<&Arc<str>, (StepConstants, &mut Slot)> = masters
            .next_of_all()
            .map(|(name, constants, slot)| (name, (constants, slot)))
            .collect();
        let mut moves = Vec::new();
        for (param, grad) in params.iter_mut().zip(matched) {
            if let (Some(grad), Some((constants, slot))) = (grad, slots.remove(&param.name)) {
                moves.push(Move { constants, grad, param: &mut param.value, slot });
            }
        }
        fused::step_all(moves, grads.factor)
    }
}

impl Join for Cpu {
    fn join(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut HostMasters,
        mut more: Vec<Named<Tensor>>,
        plan: &Plan,
    ) -> Result<(), Error> {
        let mut joined = masters.joining(plan, more.iter().map(|param| &*param.name))?;
        let lowered = started(&mut joined, &more, plan)?;
        more.iter_mut().zip(lowered).for_each(|(param, low)| param.value = low);
        masters.absorb(joined);
        params.append(&mut more);
        Ok(())
    }
}

impl ExportF32 for Cpu {
    fn export_f32(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &HostMasters,
    ) -> Result<Vec<Named<Vec<f32>>>, Error> {
        let exported = |Named { name, value }: &Named<Tensor>| {
            Named::new(name.clone(), exported(value, masters.get(name)))
        };
        Ok(params.iter().map(exported).collect())
    }
}

/// The `f32` values of a parameter, of which `slot` is kept.
fn exported(param: &Tensor, slot: Option<&Slot>) -> Vec<f32> {
    let bf16 = || Some(slot?.values(param.as_slice::<bf16>()?));
    let f16 = || Some(slot?.values(param.as_slice::<f16>()?));
    let f32 = || Some(slot?.values(param.as_slice::<f32>()?));
    bf16().or_else(f16).or_else(f32).unwrap_or_else(|| param.to_f32().into_owned())
}

/// Starts each of `params`, and gives them as they are to be stored.
fn started(
    masters: &mut HostMasters,
    params: &[Named<Tensor>],
    plan: &Plan,
) -> Result<Vec<Tensor>, Error> {
    let start = |Named { name, value }: &Named<Tensor>| {
        let stored = storable(plan.dtype_of(name, storable(value.dtype())?))?;
        let values = value.to_f32().into_owned();
        let low = match plan.store().before_lowering(&values, stored) {
            Cow::Borrowed(_) => value.cast(stored)?,
            Cow::Owned(copies) => Tensor::from_f32(copies, value.shape(), stored)?,
        };
        masters.insert(name, values, stored)?;
        Ok(low)
    };
    params.iter().map(start).collect()
}

impl Materialise for Cpu {
    fn is_raised(&self, found: &Finding) -> Result<bool, Error> {
        Ok(found.is_raised())
    }

    fn materialise(&self, grads: Gradients) -> Result<Vec<Named<Option<Tensor>>>, Error> {
        grads.materialised()
    }

    fn no_gradients(&self, error: NoGradients) -> Error {
        error.into()
    }
}

fn storable(dtype: DType) -> Result<DType, Error> {
    match dtype {
        DType::BF16 | DType::F16 | DType::F32 => Ok(dtype),
        _ => Err(Error::Unsupported { what: "train parameters of", dtype }),
    }
}

/// What a step would be refused for, without taking it: for devices that compute later and answer now.
///
/// # Errors
///
/// When `grads` does not match `params`, or `masters` does not.
pub fn check_step(
    params: &[Named<Tensor>],
    masters: &HostMasters,
    grads: &Gradients,
) -> Result<(), Error> {
    Ok(some(&matched(params, masters, grads)?)?)
}

/// Gradients in the parameters' order; all of them fit, or an error before anything has moved.
fn matched<'g>(
    params: &[Named<Tensor>],
    masters: &HostMasters,
    grads: &'g Gradients,
) -> Result<Vec<Option<&'g Tensor>>, Error> {
    let facts: Vec<Facts<'_>> = params.iter().map(facts).collect();
    let entries = grads.as_stored();
    for grad in entries.iter().filter_map(|entry| entry.value.as_ref()) {
        supported(grad, "step with gradients of")?;
    }
    let shapes = entries.iter().map(|entry| (&entry.name, entry.value.as_ref().map(Tensor::shape)));
    let places = binade_master_weights::matched(&facts, masters, shapes)?;
    let grad = |(param, place): (&Named<Tensor>, Option<usize>)| {
        let Some(place) = place else { return Ok(None) };
        storable(param.value.dtype())?;
        Ok(entries[place].value.as_ref())
    };
    params.iter().zip(places).map(grad).collect()
}

fn facts(param: &Named<Tensor>) -> Facts<'_> {
    Facts { name: &param.name, dtype: param.value.dtype(), shape: param.value.shape() }
}
