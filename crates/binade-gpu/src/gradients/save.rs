//! Gradients as values of the host's, and back: reading waits for the device.

use super::Gradients;
use crate::{Kernels, Result, Tensor};
use binade_core::{DType, Named, NamedGrads, RawTensor, TensorSpec};

impl<D: Kernels> Gradients<D> {
    /// Returns plain `f32` tensors, absent where a window's sum has not begun, for which the device is asked.
    pub(super) fn materialised(&self, device: &D) -> Result<NamedGrads<Tensor<D>>, D> {
        let mut settled = self.apply_factors(device, f32::INFINITY)?;
        settled.make_whole(device)?;
        let Some(present) = &settled.present else { return Ok(settled.entries) };
        let words = device.read_bytes(present, 0..present.bytes())?;
        let (words, _) = words.as_chunks::<4>();
        let absent = settled.entries.iter_mut().zip(words).filter(|(_, word)| **word == [0; 4]);
        absent.for_each(|(entry, _)| entry.value = None);
        Ok(settled.entries)
    }

    /// Returns the gradients as a file has them.
    pub(super) fn saved(&self, device: &D) -> Result<NamedGrads<RawTensor>, D> {
        let raw = |grad: Named<Option<Tensor<D>>>| {
            let value = grad.value.map(|grad| grad.to_raw(device)).transpose()?;
            Ok(Named { name: grad.name, value })
        };
        self.materialised(device)?.into_iter().map(raw).collect()
    }

    /// Returns a set of the gradients that a file has.
    pub(super) fn loaded(device: &D, saved: &NamedGrads<RawTensor>) -> Result<Self, D> {
        let tensor = |saved: &Named<Option<RawTensor>>| {
            let one = |raw: &RawTensor| {
                device.tensor_of(raw.bytes(), raw.spec().dtype, &raw.spec().shape)
            };
            Ok(Named {
                name: saved.name.clone(),
                value: saved.value.as_ref().map(one).transpose()?,
            })
        };
        Ok(saved.iter().map(tensor).collect::<Result<Vec<_>, D>>()?.into())
    }

    /// Returns types and shapes of the saved gradients of these parameters.
    pub(super) fn specs(params: &[Named<Tensor<D>>]) -> Vec<Named<TensorSpec>> {
        let spec = |param: &Named<Tensor<D>>| {
            Named::new(param.name.clone(), TensorSpec::new(DType::F32, param.value.shape()))
        };
        params.iter().map(spec).collect()
    }
}
