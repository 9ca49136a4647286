//! Windows of models whose element type is a type parameter as bytes, and back.

use crate::SaveGrads;
use binade_core::{DType, Finding, Flat, Form, Named, NamedGrads, NativeError, OnlyF32, RawTensor};
use binade_core::{Static, StaticGrads, StaticSet};

type Result<T> = std::result::Result<T, NativeError<OnlyF32>>;

/// Each gradient is of one axis.
impl<P: StaticSet> SaveGrads for Static<P> {
    fn grad_forms(&self, params: &P) -> Result<Vec<Named<Form>>> {
        let mut params = params.clone();
        let form = |slice: Named<&mut [P::Element]>| {
            Named::new(slice.name, Form::new(DType::F32, [slice.value.len()]))
        };
        Ok(params.slices().into_iter().map(form).collect())
    }

    fn save_grads(&self, grads: &StaticGrads<P>) -> Result<NamedGrads<RawTensor>> {
        let raw = |Named { name, value }: Named<Option<Flat>>| {
            let raw = value.and_then(|Flat(values)| {
                RawTensor::from_f32(Form::new(DType::F32, [values.len()]), &values)
            });
            Named::new(name, raw)
        };
        Ok(grads.clone().into_named().into_iter().map(raw).collect())
    }

    fn load_grads(&self, _: &P, saved: &NamedGrads<RawTensor>) -> Result<StaticGrads<P>> {
        let flat = |saved: &Named<Option<RawTensor>>| {
            let values = saved.value.as_ref().and_then(RawTensor::to_f32);
            Named::new(saved.name.clone(), values.map(Flat))
        };
        Ok(StaticGrads::Unscaled(saved.iter().map(flat).collect()))
    }

    fn upload_found(&self, found: &Finding) -> Result<Finding> {
        Ok(found.clone())
    }
}
