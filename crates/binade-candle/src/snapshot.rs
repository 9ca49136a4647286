//! Parameters and masters as bytes, and back, for checkpoints. Shapes are candle's.

use crate::elements::{Elements, read_params};
use crate::{Candle, Error, dtype::dtype};
use binade_core::{DType, Named, RawTensor, TensorSpec};
use binade_master_weights::{
    HostMasters, LoadError, ParameterSpec, SavedParameter, Snapshot, check_saved,
};
use candle_core::Tensor;
use std::sync::Arc;

impl Snapshot for Candle {
    fn specs(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &HostMasters,
    ) -> Result<Vec<ParameterSpec>, Error> {
        let spec = |param: &Named<Tensor>| {
            masters.spec(&param.name, spec(dtype(param.value.dtype()), &param.value))
        };
        Ok(params.iter().map(spec).collect())
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
        let specs = self.specs(params, masters).map_err(LoadError::Device)?;
        let saved = check_saved(&specs, saved)?;
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

pub(crate) fn spec(dtype: DType, tensor: &Tensor) -> TensorSpec {
    TensorSpec::new(dtype, tensor.dims())
}

/// Returns the elements as bytes of `dtype`: the tensor's own type, or `f32`.
pub(crate) fn raw(dtype: DType, name: &Arc<str>, tensor: &Tensor) -> Result<RawTensor, Error> {
    let elements = Elements::read(name, tensor)?;
    let raw = RawTensor::from_f32(spec(dtype, tensor), elements.values());
    raw.ok_or_else(|| Error::Untrainable { name: name.clone(), dtype: tensor.dtype() })
}

/// Puts saved elements into a parameter, whose type and shape the caller has compared.
fn put(param: &mut Named<Tensor>, saved: &RawTensor) -> Result<(), Error> {
    let place = Elements::read(&param.name, &param.value)?;
    place.with_values(saved.to_f32().unwrap_or_default()).put(&mut param.value)
}
