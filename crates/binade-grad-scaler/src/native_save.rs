//! Windows of a stranger's host tensors as bytes, and back.

use crate::{SaveGrads, native::elements};
use binade_core::{
    AmpTensor, DType, Finding, Form, Named, NamedGrads, Native, NativeError, RawTensor,
};

/// A tensor that tells no shape is of one axis, and gradients are made of parameters, which tell how.
impl<T: AmpTensor> SaveGrads for Native<T> {
    fn grad_forms(
        &self,
        params: &Vec<Named<T>>,
    ) -> Result<Vec<Named<Form>>, NativeError<T::Error>> {
        let form = |param: &Named<T>| {
            let form = Form::new(DType::F32, [elements(&param.value)?.len()]);
            Ok(Named::new(param.name.clone(), form))
        };
        params.iter().map(form).collect()
    }

    fn save_grads(
        &self,
        grads: &NamedGrads<T>,
    ) -> Result<NamedGrads<RawTensor>, NativeError<T::Error>> {
        let raw = |grad: &T| {
            let values = elements(grad)?;
            Ok::<_, T::Error>(RawTensor::from_f32(Form::new(DType::F32, [values.len()]), &values))
        };
        let one = |grad: &Named<Option<T>>| {
            let value = grad.value.as_ref().map(raw).transpose()?.flatten();
            Ok(Named::new(grad.name.clone(), value))
        };
        grads.iter().map(one).collect()
    }

    fn load_grads(
        &self,
        params: &Vec<Named<T>>,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<NamedGrads<T>, NativeError<T::Error>> {
        let one = |saved: &Named<Option<RawTensor>>| {
            let param = params.iter().find(|param| param.name == saved.name);
            let grad = param.zip(saved.value.as_ref());
            let grad = grad.map(|(param, raw)| like(&param.value, raw)).transpose()?;
            Ok(Named::new(saved.name.clone(), grad))
        };
        saved.iter().map(one).collect()
    }

    fn upload_found(&self, found: &Finding) -> Result<Finding, NativeError<T::Error>> {
        Ok(found.clone())
    }
}

fn like<T: AmpTensor>(param: &T, raw: &RawTensor) -> Result<T, NativeError<T::Error>> {
    let mut grad = param.cast(DType::F32)?;
    let values = raw.to_f32().unwrap_or_default();
    grad.map_f32(&mut |i, x| values.get(i).copied().unwrap_or(x));
    Ok(grad)
}
