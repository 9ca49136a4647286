//! Snapshots of models whose element type is a type parameter; each parameter is of one axis.

use super::{LoadError, ParameterForm, SavedParameter, Snapshot, fits};
use crate::{HostMasters, native::mismatch, static_set::widened};
use binade_core::{Element, Form, Named, NativeError, OnlyF32, RawTensor, Static, StaticSet};

type Result<T, E = NativeError<OnlyF32>> = std::result::Result<T, E>;

impl<P: StaticSet> Snapshot for Static<P> {
    fn forms(&self, params: &P, masters: &HostMasters) -> Result<Vec<ParameterForm>> {
        let mut params = params.clone();
        let forms = params.slices().into_iter().map(|param| {
            masters.form(&param.name, Form::new(P::Element::DTYPE, [param.value.len()]))
        });
        Ok(forms.collect())
    }

    fn save(&self, params: &P, masters: &HostMasters) -> Result<Vec<SavedParameter>> {
        let mut params = params.clone();
        let saved = params.slices().into_iter().map(|param| {
            let values: Vec<_> = param.value.iter().map(|x| x.to_f32()).collect();
            let raw = RawTensor::from_f32(Form::new(P::Element::DTYPE, [values.len()]), &values);
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
    ) -> Result<(), LoadError<NativeError<OnlyF32>>> {
        let forms = self.forms(params, masters).map_err(LoadError::Device)?;
        for (param, saved) in params.slices().into_iter().zip(fits(&forms, saved)?) {
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
