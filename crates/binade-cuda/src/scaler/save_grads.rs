//! Windows as bytes, and back: saving waits for the device.

use super::found::{Found, NOBODY, THE_NORM};
use crate::{Cuda, Error, Gradients, Tensor, launch::structs::FoundBits};
use binade_core::{DType, Finding, Form, Named, NamedGrads, RawTensor};
use binade_grad_scaler::{Norm, SaveGrads};
use binade_master_weights::Materialise;
use std::sync::Arc;

impl SaveGrads for Cuda {
    fn grad_forms(&self, params: &Vec<Named<Tensor>>) -> Result<Vec<Named<Form>>, Error> {
        let form = |param: &Named<Tensor>| {
            Named::new(param.name.clone(), Form::new(DType::F32, param.value.shape()))
        };
        Ok(params.iter().map(form).collect())
    }

    fn save_grads(&self, grads: &Gradients) -> Result<NamedGrads<RawTensor>, Error> {
        let raw = |grad: Named<Option<Tensor>>| {
            let value = grad.value.map(|grad| self.to_raw(&grad)).transpose()?;
            Ok(Named { name: grad.name, value })
        };
        self.materialise(grads.clone())?.into_iter().map(raw).collect()
    }

    fn load_grads(
        &self,
        _params: &Vec<Named<Tensor>>,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<Gradients, Error> {
        let tensor = |saved: &Named<Option<RawTensor>>| {
            let value = saved.value.as_ref().map(|raw| self.from_raw(raw)).transpose()?;
            Ok(Named { name: saved.name.clone(), value })
        };
        Ok(saved.iter().map(tensor).collect::<Result<Vec<_>, Error>>()?.into())
    }

    fn upload_found(&self, found: &Finding) -> Result<Found, Error> {
        let bits = self.buffer_of(bytemuck::bytes_of(&bits(self, found)))?;
        Ok(Found { missing: found.missing.clone(), ..Found::new(Arc::new(bits)) })
    }
}

fn bits(cuda: &Cuda, found: &Finding) -> FoundBits {
    let overflow = found.overflow.as_ref();
    let number = |name: &Arc<str>| match &**name {
        Norm::NAME => THE_NORM,
        _ => cuda.names().number(name),
    };
    FoundBits {
        raised: overflow.is_some().into(),
        halted: found.halted.into(),
        parameter: overflow.map_or(NOBODY, |overflow| number(&overflow.parameter)),
        has_norm: found.norm.is_some().into(),
        index: overflow.map_or(0, |overflow| overflow.index),
        scaled: overflow.map_or(0.0, |overflow| overflow.scaled),
        unscaled: overflow.map_or(0.0, |overflow| overflow.unscaled),
        infinities: found.infinities,
        nans: found.nans,
        magnitude: found.magnitude,
        norm: found.norm.unwrap_or(0.0),
        pad: 0,
    }
}
