//! Loss scaling: losses in candle's graph, sets of gradients on the host or, with CUDA, on the device.

use crate::elements::{Elements, read_grads, write_grads};
use crate::snapshot::{raw, spec};
use crate::{Candle, Error, device};
use binade_core::{
    FoundInf, HostDeviceError, HostTypeError, Named, NamedGrads, RawTensor, TensorSpec,
};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Loss, Norm, ScaleState};
use candle_core::{DType, Result as CandleResult, Tensor};

impl Loss<Candle> for Tensor {
    type Error = Error;

    fn scaled(&self, _: &Candle, scale: &ScaleState) -> Result<Self, Error> {
        Ok(times(self, scale.factor())?)
    }

    fn unscaled(&self, _: &Candle, scale: &ScaleState) -> Result<Self, Error> {
        Ok(times(self, scale.inverse())?)
    }
}

impl GradScaler for Candle {
    fn unscale(
        &self,
        grads: &mut NamedGrads<Tensor>,
        scale: &ScaleState,
    ) -> Result<FoundInf, Error> {
        if device::has(grads) {
            return device::unscale(grads, scale);
        }
        on_host(grads, |elements| Self::HOST.unscale(elements, scale))
    }
}

impl GradOps for Candle {
    fn clip_norm(
        &self,
        grads: &mut NamedGrads<Tensor>,
        norm: Norm,
        max: f32,
        verdict: &mut FoundInf,
    ) -> Result<(), Error> {
        if device::has(grads) {
            return device::clip_norm(grads, norm, max, verdict);
        }
        on_host(grads, |elements| Self::HOST.clip_norm(elements, norm, max, verdict))
    }

    fn clip_value(&self, grads: &mut NamedGrads<Tensor>, max: f32) -> Result<(), Error> {
        if device::has(grads) {
            return device::clip_value(grads, max);
        }
        on_host(grads, |elements| Self::HOST.clip_value(elements, max))
    }

    fn accumulate(
        &self,
        sum: Option<NamedGrads<Tensor>>,
        grads: NamedGrads<Tensor>,
        found: &FoundInf,
    ) -> Result<NamedGrads<Tensor>, Error> {
        if device::has(&grads) || sum.as_ref().is_some_and(device::has) {
            return device::accumulate(sum, grads, found);
        }
        let sum = sum.as_deref().map(read_grads).transpose()?;
        write_grads(Self::HOST.accumulate(sum, read_grads(&grads)?, found)?)
    }

    fn clip_groups(
        &self,
        grads: &mut NamedGrads<Tensor>,
        groups: &[ClipGroup],
        verdict: &mut FoundInf,
    ) -> Result<(), Error> {
        if device::has(grads) {
            return device::clip_groups(grads, groups, verdict);
        }
        on_host(grads, |elements| Self::HOST.clip_groups(elements, groups, verdict))
    }

    fn grad_specs(&self, params: &Vec<Named<Tensor>>) -> Result<Vec<Named<TensorSpec>>, Error> {
        let spec = |param: &Named<Tensor>| {
            Named::new(param.name.clone(), spec(binade_core::DType::F32, &param.value))
        };
        Ok(params.iter().map(spec).collect())
    }

    fn save_grads(&self, grads: &NamedGrads<Tensor>) -> Result<NamedGrads<RawTensor>, Error> {
        let one = |grad: &Named<Option<Tensor>>| {
            let value =
                grad.value.as_ref().map(|value| raw(binade_core::DType::F32, &grad.name, value));
            Ok(Named::new(grad.name.clone(), value.transpose()?))
        };
        grads.iter().map(one).collect()
    }

    fn load_grads(
        &self,
        params: &Vec<Named<Tensor>>,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<NamedGrads<Tensor>, Error> {
        let one = |saved: &Named<Option<RawTensor>>| {
            let param = params.iter().find(|param| param.name == saved.name);
            let tensor = param.zip(saved.value.as_ref()).map(|(param, raw)| {
                let values = raw.to_f32().unwrap_or_default();
                Tensor::from_vec(values, param.value.shape(), param.value.device())
            });
            Ok(Named::new(saved.name.clone(), tensor.transpose()?))
        };
        saved.iter().map(one).collect()
    }
}

/// Works on a copy of the elements of a set on the host, and puts it in place.
fn on_host<T>(
    grads: &mut NamedGrads<Tensor>,
    work: impl FnOnce(&mut NamedGrads<Elements>) -> Result<T, HostDeviceError<HostTypeError>>,
) -> Result<T, Error> {
    let mut elements = read_grads(grads)?;
    let result = work(&mut elements)?;
    *grads = write_grads(elements)?;
    Ok(result)
}

/// `tensor * factor` in `f32`. candle's `affine` adds 0 and so makes a zero of -0, and is not used.
pub(crate) fn times(tensor: &Tensor, factor: f32) -> CandleResult<Tensor> {
    let factor = Tensor::new(factor, tensor.device())?;
    tensor.to_dtype(DType::F32)?.broadcast_mul(&factor)
}
