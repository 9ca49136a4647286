//! Loss scaling: losses in candle's graph, sets of gradients on the host or, with CUDA, on the device.

use crate::elements::{Elements, read_grads, write_grads};
use crate::snapshot::spec;
use crate::{Candle, Error, device};
use binade_core::{
    AmpTensor, FoundInf, Gradient, HostDeviceError, HostTypeError, Named, NamedGrads, RawTensor,
    SparseGrads, TensorSpec,
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
        grads: &mut SparseGrads<Tensor>,
        scale: &ScaleState,
    ) -> Result<FoundInf, Error> {
        if let Some(mut whole) = device::own([&*grads]) {
            return on_device(grads, &mut whole, |whole| device::unscale(whole, scale));
        }
        on_host(grads, |elements| Self::HOST.unscale(elements, scale))
    }
}

impl GradOps for Candle {
    fn clip_norm(
        &self,
        grads: &mut SparseGrads<Tensor>,
        norm: Norm,
        max: f32,
        verdict: &mut FoundInf,
    ) -> Result<(), Error> {
        if let Some(mut whole) = device::own([&*grads]) {
            return on_device(grads, &mut whole, |whole| {
                device::clip_norm(whole, norm, max, verdict)
            });
        }
        on_host(grads, |elements| Self::HOST.clip_norm(elements, norm, max, verdict))
    }

    fn clip_value(&self, grads: &mut SparseGrads<Tensor>, max: f32) -> Result<(), Error> {
        if let Some(mut whole) = device::own([&*grads]) {
            return on_device(grads, &mut whole, |whole| device::clip_value(whole, max));
        }
        on_host(grads, |elements| Self::HOST.clip_value(elements, max))
    }

    fn accumulate(
        &self,
        sum: Option<SparseGrads<Tensor>>,
        grads: SparseGrads<Tensor>,
        found: &FoundInf,
    ) -> Result<SparseGrads<Tensor>, Error> {
        if let Some(mut whole) = device::own(sum.iter().chain([&grads])) {
            let grads = whole.pop().unwrap_or_default();
            return Ok(device::accumulate(whole.pop(), grads, found)?.into());
        }
        let sum = sum.as_ref().map(read_grads).transpose()?;
        write_grads(Self::HOST.accumulate(sum, read_grads(&grads)?, found)?)
    }

    fn clip_groups(
        &self,
        grads: &mut SparseGrads<Tensor>,
        groups: &[ClipGroup],
        verdict: &mut FoundInf,
    ) -> Result<(), Error> {
        if let Some(mut whole) = device::own([&*grads]) {
            return on_device(grads, &mut whole, |whole| {
                device::clip_groups(whole, groups, verdict)
            });
        }
        on_host(grads, |elements| Self::HOST.clip_groups(elements, groups, verdict))
    }

    fn grad_specs(&self, params: &Vec<Named<Tensor>>) -> Result<Vec<Named<TensorSpec>>, Error> {
        let spec = |param: &Named<Tensor>| {
            Named::new(param.name.clone(), spec(binade_core::DType::F32, &param.value))
        };
        Ok(params.iter().map(spec).collect())
    }

    fn save_grads(&self, grads: &SparseGrads<Tensor>) -> Result<NamedGrads<RawTensor>, Error> {
        let one = |Named { name, value }: Named<Option<Elements>>| {
            let raw = |elements: Elements| {
                let spec = TensorSpec::new(binade_core::DType::F32, elements.dims());
                RawTensor::from_f32(spec, elements.whole().values())
            };
            Named { name, value: value.and_then(raw) }
        };
        Ok(read_grads(grads)?.into_iter().map(one).collect())
    }

    fn load_grads(
        &self,
        params: &Vec<Named<Tensor>>,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<SparseGrads<Tensor>, Error> {
        let one = |saved: &Named<Option<RawTensor>>| {
            let param = params.iter().find(|param| param.name == saved.name);
            let tensor = param.zip(saved.value.as_ref()).map(|(param, raw)| {
                let values = raw.to_f32().unwrap_or_default();
                Tensor::from_vec(values, param.value.shape(), param.value.device())
            });
            let value = tensor.transpose()?.map(Gradient::Dense);
            Ok(Named::new(saved.name.clone(), value))
        };
        Ok(SparseGrads(saved.iter().map(one).collect::<Result<_, Error>>()?))
    }

    fn save_rows(&self, grads: &SparseGrads<Tensor>) -> Result<Vec<Named<Vec<u64>>>, Error> {
        Ok(Self::HOST.save_rows(&read_grads(grads)?)?)
    }

    fn load_rows(
        &self,
        grads: SparseGrads<Tensor>,
        rows: &[Named<Vec<u64>>],
    ) -> Result<SparseGrads<Tensor>, Error> {
        write_grads(Self::HOST.load_rows(read_grads(&grads)?, rows)?)
    }
}

/// Processes a set on its device, and replaces it by the result.
fn on_device<T>(
    grads: &mut SparseGrads<Tensor>,
    whole: &mut [NamedGrads<Tensor>],
    work: impl FnOnce(&mut NamedGrads<Tensor>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut set = whole.first_mut().map(std::mem::take).unwrap_or_default();
    let result = work(&mut set)?;
    *grads = set.into();
    Ok(result)
}

/// Processes a copy of a set's elements on the host, and replaces the set by the result.
fn on_host<T>(
    grads: &mut SparseGrads<Tensor>,
    work: impl FnOnce(&mut NamedGrads<Elements>) -> Result<T, HostDeviceError<HostTypeError>>,
) -> Result<T, Error> {
    let mut elements = read_grads(grads)?;
    let result = work(&mut elements)?;
    *grads = write_grads(elements)?;
    Ok(result)
}

/// Returns `tensor * factor` in `f32`. candle's `affine` is not used: it adds 0, which turns -0 into 0.
pub(crate) fn times(tensor: &Tensor, factor: f32) -> CandleResult<Tensor> {
    let factor = Tensor::new(factor, tensor.device())?;
    tensor.to_dtype(DType::F32)?.broadcast_mul(&factor)
}
