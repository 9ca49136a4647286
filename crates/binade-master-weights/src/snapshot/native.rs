//! Snapshots of a stranger's host tensors, which tell their elements and no shape.

use super::{LoadError, ParameterSpec, SavedParameter, Snapshot, check_saved};
use crate::HostMasters;
use binade_core::{AmpTensor, HostDevice, HostDeviceError, Named, RawTensor, TensorSpec};
use std::sync::Arc;

impl<T: AmpTensor> Snapshot for HostDevice<T> {
    fn specs(
        &self,
        params: &Vec<Named<T>>,
        masters: &HostMasters,
    ) -> Result<Vec<ParameterSpec>, HostDeviceError<T::Error>> {
        let spec = |param: &Named<T>| {
            let spec = TensorSpec::new(param.value.dtype(), [elements(&param.value).len()]);
            masters.spec(&param.name, spec)
        };
        Ok(params.iter().map(spec).collect())
    }

    fn save(
        &self,
        params: &Vec<Named<T>>,
        masters: &HostMasters,
    ) -> Result<Vec<SavedParameter>, HostDeviceError<T::Error>> {
        let saved = |param: &Named<T>| {
            let values = elements(&param.value);
            let spec = TensorSpec::new(param.value.dtype(), [values.len()]);
            let value = RawTensor::from_f32(spec, &values);
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
    ) -> Result<(), LoadError<HostDeviceError<T::Error>>> {
        let specs = self.specs(params, masters).map_err(LoadError::Device)?;
        for (param, saved) in params.iter_mut().zip(check_saved(&specs, saved)?) {
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
    ) -> Result<Vec<Named<Vec<f32>>>, HostDeviceError<T::Error>> {
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

fn mismatch<E>(parameter: &Arc<str>) -> HostDeviceError<E> {
    let why = "parameters are saved in bf16, f16 or f32, and it is of another type: cast it first";
    HostDeviceError::Mismatch { parameter: parameter.clone(), why }
}
