//! Keeping masters, and stepping them.

use super::fused::{self, Move};
use crate::{Cpu, Error, Gradients, Tensor, gradients::supported};
use binade_core::{DType, Finding, Named, NoGradients};
use binade_master_weights::{HostMasters, MasterWeights, Materialise, Plan, Slot, StepConstants};
use std::collections::HashMap;
use std::sync::Arc;

impl MasterWeights for Cpu {
    type Params = Vec<Named<Tensor>>;
    type Grads = Gradients;
    type Found = Finding;
    type Masters = HostMasters;

    fn masters(&self, params: &mut Vec<Named<Tensor>>, plan: &Plan) -> Result<HostMasters, Error> {
        let mut masters = HostMasters::new(plan, params.iter().map(|param| &*param.name))?;
        let lower = |param: &Named<Tensor>| {
            let now = storable(param.value.dtype())?;
            let low = param.value.cast(storable(plan.dtype_of(&param.name, now))?)?;
            Ok((param.value.to_f32().into_owned(), low))
        };
        let both: Vec<(Vec<f32>, Tensor)> =
            params.iter().map(lower).collect::<Result<_, Error>>()?;
        for (param, (values, low)) in params.iter_mut().zip(both) {
            masters.insert(&param.name, values, low.dtype());
            param.value = low;
        }
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

impl Materialise for Cpu {
    type Grads = Gradients;
    type Found = Finding;

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
    some(&matched(params, masters, grads)?)
}

/// At least one gradient, where there are parameters that want some.
fn some(matched: &[Option<&Tensor>]) -> Result<(), Error> {
    match matched.len() {
        parameters if parameters > 0 && matched.iter().all(Option::is_none) => {
            Err(NoGradients { parameters }.into())
        }
        _ => Ok(()),
    }
}

/// Gradients in the parameters' order; all of them fit, or an error before anything has moved.
fn matched<'g>(
    params: &[Named<Tensor>],
    masters: &HostMasters,
    grads: &'g Gradients,
) -> Result<Vec<Option<&'g Tensor>>, Error> {
    let mut places: HashMap<&Arc<str>, usize> =
        params.iter().enumerate().map(|(place, param)| (&param.name, place)).collect();
    let mut matched = vec![None; params.len()];
    for Named { name, value } in grads.as_stored() {
        // Taken out, so that a second gradient for it finds nothing.
        let place = places.remove(name).ok_or_else(|| refuse(name, STRANGER))?;
        if let Some(grad) = value {
            supported(grad, "step with gradients of")?;
            let slot = masters.get(name).ok_or_else(|| refuse(name, LATE))?;
            fits(grad, &params[place], slot)?;
            if masters.lacks_master(name, params[place].value.dtype()) {
                return Err(refuse(name, LOWERED));
            }
        }
        matched[place] = value.as_ref();
    }
    Ok(matched)
}

/// The parameter may have been replaced since its master was made.
fn fits(grad: &Tensor, param: &Named<Tensor>, slot: &Slot) -> Result<(), Error> {
    storable(param.value.dtype())?;
    if grad.shape() != param.value.shape() {
        return Err(refuse(&param.name, "its gradient has another shape than the parameter"));
    }
    if slot.len != param.value.len() {
        return Err(refuse(
            &param.name,
            "it has another length than when its master was made; start a new optimizer",
        ));
    }
    Ok(())
}

const LATE: &str = "it joined after its optimizer was made; start a new optimizer";
const LOWERED: &str = "it was lowered after its optimizer was made, so that there is no master to keep small updates: lower it before, or by the plan's `with_storage`, and start a new optimizer";
const STRANGER: &str = "a gradient came for it that no parameter of the optimizer is waiting for: it has none of that name, or a gradient had come already";

fn refuse(parameter: &Arc<str>, why: &'static str) -> Error {
    Error::Parameter { parameter: parameter.clone(), why }
}
