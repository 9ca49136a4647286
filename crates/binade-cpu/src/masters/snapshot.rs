//! Parameters and their state as bytes, and back.

use crate::{Cpu, Error, Tensor};
use binade_core::{Named, RawTensor, TensorSpec};
use binade_master_weights::{
    HostMasters, HostParamState, LoadError, ParameterSpec, SavedParameter, Snapshot, check_saved,
};
use half::{bf16, f16};

impl Tensor {
    /// Returns the tensor's type and shape.
    pub(crate) fn spec(&self) -> TensorSpec {
        TensorSpec::new(self.dtype(), self.shape())
    }
}

/// Returns a tensor's elements as a file has them.
impl From<&Tensor> for RawTensor {
    fn from(tensor: &Tensor) -> Self {
        Self::new(tensor.spec(), tensor.to_bits()).expect("as many bytes as the shape says")
    }
}

/// Returns a tensor of the elements that a file has; [`Error::Unsupported`] for `i32` and `bool`.
impl TryFrom<&RawTensor> for Tensor {
    type Error = Error;

    fn try_from(raw: &RawTensor) -> Result<Self, Error> {
        Self::from_bits(raw.bytes(), raw.spec().dtype, &raw.spec().shape)
    }
}

impl Snapshot for Cpu {
    fn specs(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &HostMasters,
    ) -> Result<Vec<ParameterSpec>, Error> {
        Ok(params.iter().map(|param| masters.spec(&param.name, param.value.spec())).collect())
    }

    fn save(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &HostMasters,
    ) -> Result<Vec<SavedParameter>, Error> {
        let saved = |param: &Named<Tensor>| masters.saved(&param.name, (&param.value).into());
        Ok(params.iter().map(saved).collect())
    }

    fn load(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut HostMasters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Error>> {
        let specs = self.specs(params, masters).map_err(LoadError::Device)?;
        let saved = check_saved(&specs, saved)?;
        let tensor = |saved: &&SavedParameter| Tensor::try_from(&saved.value);
        let values = saved.iter().map(tensor).collect::<Result<Vec<_>, Error>>();
        let values = values.map_err(LoadError::Device)?;
        for ((param, value), saved) in params.iter_mut().zip(values).zip(saved) {
            param.value = value;
            masters.put(saved);
        }
        Ok(())
    }

    fn export_f32(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &HostMasters,
    ) -> Result<Vec<Named<Vec<f32>>>, Error> {
        let exported = |Named { name, value }: &Named<Tensor>| {
            Named::new(name.clone(), exported(value, masters.get(name)))
        };
        Ok(params.iter().map(exported).collect())
    }
}

/// Returns the `f32` values of a parameter with this slot.
fn exported(param: &Tensor, slot: Option<&HostParamState>) -> Vec<f32> {
    let bf16 = || Some(slot?.values(param.as_slice::<bf16>()?));
    let f16 = || Some(slot?.values(param.as_slice::<f16>()?));
    let f32 = || Some(slot?.values(param.as_slice::<f32>()?));
    bf16().or_else(f16).or_else(f32).unwrap_or_else(|| param.to_f32().into_owned())
}
