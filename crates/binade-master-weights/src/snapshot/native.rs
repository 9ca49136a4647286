//! Snapshots of a stranger's host tensors, which tell their elements and no shape.

use super::{LoadError, ParameterForm, SavedParameter, Snapshot, fits};
use crate::HostMasters;
use binade_core::{AmpTensor, Form, Named, Native, NativeError, RawTensor};
use std::sync::Arc;

impl<T: AmpTensor> Snapshot for Native<T> {
    fn forms(
        &self,
        params: &Vec<Named<T>>,
        masters: &HostMasters,
    ) -> Result<Vec<ParameterForm>, NativeError<T::Error>> {
        let form = |param: &Named<T>| {
            let form = Form::new(param.value.dtype(), [elements(&param.value).len()]);
            masters.form(&param.name, form)
        };
        Ok(params.iter().map(form).collect())
    }

    fn save(
        &self,
        params: &Vec<Named<T>>,
        masters: &HostMasters,
    ) -> Result<Vec<SavedParameter>, NativeError<T::Error>> {
        let saved = |param: &Named<T>| {
            let values = elements(&param.value);
            let form = Form::new(param.value.dtype(), [values.len()]);
            let value = RawTensor::from_f32(form, &values);
            let value = value.ok_or_else(|| mismatch(&param.name))?;
            Ok(masters.saved(&param.name, value))
        };
        params.iter().map(saved).collect()
    }

    fn load(
        &self,
        params: &mut Vec<Named<T>>,
        masters: &mut HostMasters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<NativeError<T::Error>>> {
        let forms = self.forms(params, masters).map_err(LoadError::Device)?;
        for (param, saved) in params.iter_mut().zip(fits(&forms, saved)?) {
            let values = saved.value.to_f32().unwrap_or_default();
            param.value.map_f32(&mut |i, old| values.get(i).copied().unwrap_or(old));
            masters.put(saved);
        }
        Ok(())
    }

    fn export_f32(
        &self,
        params: &Vec<Named<T>>,
        masters: &HostMasters,
    ) -> Result<Vec<Named<Vec<f32>>>, NativeError<T::Error>> {
        let values = |Named { name, value }: &Named<T>| {
            let own = elements(value);
            let values = match masters.get(name) {
                Some(slot) if slot.stored == value.dtype() => slot.values_of(&own),
                Some(slot) => slot.values(&own),
                None => own,
            };
            Ok(Named::new(name.clone(), values))
        };
        params.iter().map(values).collect()
    }
}

fn elements<T: AmpTensor>(tensor: &T) -> Vec<f32> {
    let mut elements = Vec::new();
    tensor.clone().map_f32(&mut |_, x| {
        elements.push(x);
        x
    });
    elements
}

fn mismatch<E>(parameter: &Arc<str>) -> NativeError<E> {
    let why = "parameters are saved in bf16, f16 or f32, and it is of another type: cast it first";
    NativeError::Mismatch { parameter: parameter.clone(), why }
}
