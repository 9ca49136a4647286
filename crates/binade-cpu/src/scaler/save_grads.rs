//! Windows as bytes, and back.

use crate::{Cpu, Error, Gradients, Tensor};
use binade_core::{DType, Finding, Form, Named, NamedGrads, RawTensor};
use binade_grad_scaler::SaveGrads;

impl SaveGrads for Cpu {
    fn grad_forms(&self, params: &Vec<Named<Tensor>>) -> Result<Vec<Named<Form>>, Error> {
        let form = |param: &Named<Tensor>| {
            Named::new(param.name.clone(), Form::new(DType::F32, param.value.shape()))
        };
        Ok(params.iter().map(form).collect())
    }

    fn save_grads(&self, grads: &Gradients) -> Result<NamedGrads<RawTensor>, Error> {
        let raw = |grad: Named<Option<Tensor>>| Named {
            name: grad.name,
            value: grad.value.as_ref().map(Tensor::to_raw),
        };
        Ok(grads.materialised()?.into_iter().map(raw).collect())
    }

    fn load_grads(
        &self,
        _params: &Vec<Named<Tensor>>,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<Gradients, Error> {
        let tensor = |saved: &Named<Option<RawTensor>>| {
            let value = saved.value.as_ref().map(Tensor::from_raw).transpose()?;
            Ok(Named { name: saved.name.clone(), value })
        };
        Ok(saved.iter().map(tensor).collect::<Result<Vec<_>, Error>>()?.into())
    }

    fn upload_found(&self, found: &Finding) -> Result<Finding, Error> {
        Ok(found.clone())
    }
}
