//! Snapshots of models whose element type is a type parameter; each parameter is of one axis.

use super::{LoadError, ParameterSpec, SavedParameter, Snapshot, check_saved};
use crate::{HostMasters, native::mismatch, static_set::widened};
use binade_core::{
    Element, HostDeviceError, Named, OnlyF32, RawTensor, StaticSet, TensorSpec, TypedModel,
};

type Result<T, E = HostDeviceError<OnlyF32>> = std::result::Result<T, E>;

impl<P: StaticSet> Snapshot for TypedModel<P> {
    fn specs(&self, params: &P, masters: &HostMasters) -> Result<Vec<ParameterSpec>> {
        let mut params = params.clone();
        let specs = params.slices().into_iter().map(|param| {
            masters.spec(&param.name, TensorSpec::new(P::Element::DTYPE, [param.value.len()]))
        });
        Ok(specs.collect())
    }

    fn save(&self, params: &P, masters: &HostMasters) -> Result<Vec<SavedParameter>> {
        let mut params = params.clone();
        let saved = params.slices().into_iter().map(|param| {
            let values: Vec<_> = param.value.iter().map(|x| x.to_f32()).collect();
            let raw =
                RawTensor::from_f32(TensorSpec::new(P::Element::DTYPE, [values.len()]), &values);
            let raw = raw.ok_or_else(|| mismatch(&param.name, "its type cannot be saved"))?;
            Ok(masters.saved(&param.name, raw))
        });
        saved.collect()
    }

    fn load(
        &self,
        params: &mut P,
        masters: &mut HostMasters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<HostDeviceError<OnlyF32>>> {
        let specs = self.specs(params, masters).map_err(LoadError::Device)?;
        for (param, saved) in params.slices().into_iter().zip(check_saved(&specs, saved)?) {
            let values = saved.value.to_f32().unwrap_or_default();
            P::Element::narrow(&values, param.value);
            masters.put(saved);
        }
        Ok(())
    }

    fn export_f32(&self, params: &P, masters: &HostMasters) -> Result<Vec<Named<Vec<f32>>>> {
        let mut params = params.clone();
        let values = params.slices().into_iter().map(|Named { name, value }| {
            let values = masters.get(&name).map(|slot| slot.values(value));
            Named { name, value: values.unwrap_or_else(|| widened(value)) }
        });
        Ok(values.collect())
    }
}
