//! Parameters, masters and windows as bytes, and back: what checkpoints are made of. Shapes are candle's.

use crate::elements::Elements;
use crate::{Candle, Error, dtype::dtype};
use binade_core::{DType, Finding, Form, Named, NamedGrads, RawTensor};
use binade_grad_scaler::SaveGrads;
use binade_master_weights::{
    HostMasters, LoadError, ParameterForm, SavedParameter, Snapshot, fits,
};
use candle_core::Tensor;
use std::sync::Arc;

impl Snapshot for Candle {
    fn forms(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &HostMasters,
    ) -> Result<Vec<ParameterForm>, Error> {
        let form = |param: &Named<Tensor>| {
            masters.form(&param.name, form(dtype(param.value.dtype()), &param.value))
        };
        Ok(params.iter().map(form).collect())
    }

    fn save(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &HostMasters,
    ) -> Result<Vec<SavedParameter>, Error> {
        let saved = |param: &Named<Tensor>| {
            let value = raw(dtype(param.value.dtype()), &param.name, &param.value)?;
            Ok(masters.saved(&param.name, value))
        };
        params.iter().map(saved).collect()
    }

    fn load(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut HostMasters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Error>> {
        let forms = self.forms(params, masters).map_err(LoadError::Device)?;
        let saved = fits(&forms, saved)?;
        for (param, saved) in params.iter_mut().zip(&saved) {
            put(param, &saved.value).map_err(LoadError::Device)?;
        }
        for saved in saved {
            masters.put(saved);
        }
        Ok(())
    }
}

impl SaveGrads for Candle {
    fn grad_forms(&self, params: &Vec<Named<Tensor>>) -> Result<Vec<Named<Form>>, Error> {
        let form =
            |param: &Named<Tensor>| Named::new(param.name.clone(), form(DType::F32, &param.value));
        Ok(params.iter().map(form).collect())
    }

    fn save_grads(&self, grads: &NamedGrads<Tensor>) -> Result<NamedGrads<RawTensor>, Error> {
        let one = |grad: &Named<Option<Tensor>>| {
            let value = grad.value.as_ref().map(|value| raw(DType::F32, &grad.name, value));
            Ok(Named::new(grad.name.clone(), value.transpose()?))
        };
        grads.iter().map(one).collect()
    }

    fn load_grads(
        &self,
        params: &Vec<Named<Tensor>>,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<NamedGrads<Tensor>, Error> {
        let one = |saved: &Named<Option<RawTensor>>| {
            let param = params.iter().find(|param| param.name == saved.name);
            let tensor = param.zip(saved.value.as_ref()).map(|(param, raw)| {
                let values = raw.to_f32().unwrap_or_default();
                Tensor::from_vec(values, param.value.shape(), param.value.device())
            });
            Ok(Named::new(saved.name.clone(), tensor.transpose()?))
        };
        saved.iter().map(one).collect()
    }

    fn upload_found(&self, found: &Finding) -> Result<Finding, Error> {
        Ok(found.clone())
    }
}

fn form(dtype: DType, tensor: &Tensor) -> Form {
    Form::new(dtype, tensor.dims())
}

/// Elements in `dtype`, which holds them: the tensor's own, or `f32`.
fn raw(dtype: DType, name: &Arc<str>, tensor: &Tensor) -> Result<RawTensor, Error> {
    let elements = Elements::read(name, tensor)?;
    let raw = RawTensor::from_f32(form(dtype, tensor), elements.values());
    raw.ok_or_else(|| Error::Untrainable { name: name.clone(), dtype: tensor.dtype() })
}

/// Puts what was saved into a parameter. Its form was compared.
fn put(param: &mut Named<Tensor>, saved: &RawTensor) -> Result<(), Error> {
    let place = Elements::read(&param.name, &param.value)?;
    place.with_values(saved.to_f32().unwrap_or_default()).put(&mut param.value)
}
