//! Snapshots of parameters in host memory, each of one axis.

use super::{LoadError, ParameterSpec, SavedParameter, Snapshot, check_saved};
use crate::native::{elements, mismatch};
use crate::{HostMasters, MasterWeights};
use binade_core::{
    AmpTensor, FoundInf, GradSet, HostDeviceError, HostParams, Named, NamedGrads, RawTensor,
    TensorSpec,
};

type Result<T, V> = std::result::Result<V, HostDeviceError<<T as AmpTensor>::Error>>;

/// A device whose parameters are host tensors has this trait already.
impl<D, T> Snapshot for D
where
    D: MasterWeights<Masters = HostMasters>
        + GradSet<Grads = NamedGrads<T>, Found = FoundInf, Error = HostDeviceError<T::Error>>,
    D::Params: HostParams<T>,
    T: AmpTensor,
{
    fn specs(&self, params: &D::Params, masters: &HostMasters) -> Result<T, Vec<ParameterSpec>> {
        let spec = |param: &Named<T>| {
            let len = elements(param.value.clone()).len();
            masters.spec(&param.name, TensorSpec::new(param.value.dtype(), [len]))
        };
        Ok(params.tensors().iter().map(spec).collect())
    }

    fn save(&self, params: &D::Params, masters: &HostMasters) -> Result<T, Vec<SavedParameter>> {
        let saved = |param: &Named<T>| {
            let values = elements(param.value.clone());
            let spec = TensorSpec::new(param.value.dtype(), [values.len()]);
            let value = RawTensor::from_f32(spec, &values);
            Ok(masters.saved(&param.name, value.ok_or_else(|| mismatch(&param.name, UNSAVED))?))
        };
        params.tensors().iter().map(saved).collect()
    }

    fn load(
        &self,
        params: &mut D::Params,
        masters: &mut HostMasters,
        saved: &[SavedParameter],
    ) -> std::result::Result<(), LoadError<D::Error>> {
        let specs = self.specs(params, masters).map_err(LoadError::Device)?;
        let ordered = check_saved(&specs, saved)?;
        params.edit(|params| {
            for (param, saved) in params.iter_mut().zip(ordered) {
                let values = saved.value.to_f32().unwrap_or_default();
                param.value.map_f32(&mut |i, old| values.get(i).copied().unwrap_or(old));
                masters.put(saved);
            }
        });
        Ok(())
    }

    fn export_f32(
        &self,
        params: &D::Params,
        masters: &HostMasters,
    ) -> Result<T, Vec<Named<Vec<f32>>>> {
        let values = |Named { name, value }: &Named<T>| {
            let own = elements(value.clone());
            let values = match masters.get(name) {
                Some(slot) if slot.stored == value.dtype() => slot.values_of(&own),
                Some(slot) => slot.values(&own),
                None => own,
            };
            Ok(Named::new(name.clone(), values))
        };
        params.tensors().iter().map(values).collect()
    }
}

const UNSAVED: &str =
    "parameters are saved in bf16, f16 or f32, and it is of another type: cast it first";
