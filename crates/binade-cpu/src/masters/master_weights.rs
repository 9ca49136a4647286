//! Keeping masters, and stepping them.

use super::fused;
use crate::{Cpu, Error, Gradients, Tensor};
use binade_core::{DType, Finding, Named};
use binade_master_weights::{HostMasters, MasterWeights, Materialise, Plan};
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
            let dtype = plan.dtype_of(&param.name, param.value.dtype());
            Ok((param.value.to_f32().into_owned(), param.value.cast(storable(dtype)?)?))
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
        if found.is_raised() {
            return Ok(());
        }
        let matched = matched(params, &grads)?;
        for (param, grad) in params.iter_mut().zip(matched) {
            if let (Some(grad), Some((constants, slot))) = (grad, masters.next(&param.name)) {
                fused::step(&constants, grads.factor, grad, &mut param.value, slot)?;
            }
        }
        Ok(())
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
}

fn storable(dtype: DType) -> Result<DType, Error> {
    match dtype {
        DType::BF16 | DType::F16 | DType::F32 => Ok(dtype),
        _ => Err(Error::Unsupported { what: "train parameters of", dtype }),
    }
}

/// Gradients in the parameters' order; all of them fit, or an error before anything has moved.
fn matched<'g>(
    params: &[Named<Tensor>],
    grads: &'g Gradients,
) -> Result<Vec<Option<&'g Tensor>>, Error> {
    let places: HashMap<&Arc<str>, usize> =
        params.iter().enumerate().map(|(place, param)| (&param.name, place)).collect();
    let mut matched = vec![None; params.len()];
    for Named { name, value } in grads.as_stored() {
        let place = *places.get(name).ok_or_else(|| {
            refuse(name, "a gradient came for it, and the optimizer has no such parameter")
        })?;
        if let Some(grad) = value {
            storable(grad.dtype())?;
            if grad.shape() != params[place].value.shape() {
                return Err(refuse(name, "its gradient has another shape than the parameter"));
            }
        }
        matched[place] = value.as_ref();
    }
    Ok(matched)
}

fn refuse(parameter: &Arc<str>, why: &'static str) -> Error {
    Error::Parameter { parameter: parameter.clone(), why }
}
