//! Parameters and masters as bytes, and back, for checkpoints. Shapes are candle's.

use crate::elements::{Elements, read_params};
use crate::{Candle, Error, dtype::dtype};
use binade_core::{DType, Form, Named, RawTensor};
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

    fn export_f32(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &HostMasters,
    ) -> Result<Vec<Named<Vec<f32>>>, Error> {
        Ok(Self::HOST.export_f32(&read_params(params)?, masters)?)
    }
}

pub(crate) fn form(dtype: DType, tensor: &Tensor) -> Form {
    Form::new(dtype, tensor.dims())
}

/// Elements in `dtype`, which holds them: the tensor's own, or `f32`.
pub(crate) fn raw(dtype: DType, name: &Arc<str>, tensor: &Tensor) -> Result<RawTensor, Error> {
    let elements = Elements::read(name, tensor)?;
    let raw = RawTensor::from_f32(form(dtype, tensor), elements.values());
    raw.ok_or_else(|| Error::Untrainable { name: name.clone(), dtype: tensor.dtype() })
}

/// Puts saved elements into a parameter. Its form was compared.
fn put(param: &mut Named<Tensor>, saved: &RawTensor) -> Result<(), Error> {
    let place = Elements::read(&param.name, &param.value)?;
    place.with_values(saved.to_f32().unwrap_or_default()).put(&mut param.value)
}
