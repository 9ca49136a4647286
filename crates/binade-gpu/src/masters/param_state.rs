//! The optimizer's state of one parameter on the device.

use super::MasterState;
use crate::{Error, Kernels, Result, Tensor};
use binade_core::{DType, Element, Named, RawTensor, TensorSpec};
use binade_master_weights::{HostParamState, OptimizerConfig, SavedParameter, StateKind};
use std::collections::HashMap;

/// Loaded tensors of one parameter's state.
pub(super) type StateTensors<D> = HashMap<StateKind, Tensor<D>>;

/// The optimizer's state of one parameter: its master, its moments and its running norm.
#[derive(Debug)]
pub struct ParamState<D: Kernels> {
    /// Its index among the counts of applied steps and the constants.
    pub number: u32,
    /// Its master.
    pub master: MasterState<D>,
    /// Moments in the rule's order, in `f32` or bf16; none where the rule has fewer.
    pub moments: [Option<Tensor<D>>; 3],
    /// Running norm of the tensor's gradients, one value, where the rule keeps one.
    pub norm: Option<Tensor<D>>,
    len: usize,
    stored: DType,
}

impl<D: Kernels> ParamState<D> {
    /// Returns the state of a parameter with these values, and the parameter as it is to be stored.
    pub(super) fn new(
        device: &D,
        number: u32,
        Named { name, value: values }: &Named<Tensor<D>>,
        stored: DType,
        config: &OptimizerConfig,
    ) -> Result<(Self, Tensor<D>), D> {
        let rule = config.rule_for(name);
        let (master, low) = MasterState::new(device, config.store, values, stored)?;
        let mut moments = [None, None, None];
        let initial = rule.initial().into_iter().zip(config.bf16_moments(rule));
        for (moment, (value, is_bf16)) in moments.iter_mut().zip(initial).take(rule.moments()) {
            let dtype = if is_bf16 { DType::BF16 } else { DType::F32 };
            *moment = Some(filled(device, value, dtype, values.shape())?);
        }
        let zero = || device.zeros_tensor(DType::F32, &[1]);
        let norm = rule.keeps_norm().then(zero).transpose()?;
        Ok((Self { number, master, moments, norm, len: values.len(), stored }, low))
    }

    /// Returns the bytes of the master.
    pub(super) fn master_bytes(&self) -> u64 {
        self.master.tensor().map_or(0, |master| master.bytes() as u64)
    }

    /// Returns the bytes of the moments.
    pub(super) fn moment_bytes(&self) -> u64 {
        self.moments.iter().flatten().map(|moment| moment.bytes() as u64).sum()
    }

    /// Returns the moments in bf16 as kernels take them: bit 0 is 1 where the first moment is.
    pub fn bf16_moments(&self) -> u32 {
        let is_bf16 = |moment: &Tensor<D>| moment.dtype() == DType::BF16;
        let bits = self.moments.iter().zip(0..);
        bits.map(|(moment, bit)| u32::from(moment.as_ref().is_some_and(is_bf16)) << bit).sum()
    }

    /// Waits for the device and returns the state on the host, after `applied` steps.
    pub(super) fn read(&self, device: &D, applied: u64) -> Result<HostParamState, D> {
        let mut moments = [const { Vec::new() }; 3];
        let mut bf16_moments = [const { Vec::new() }; 3];
        for ((wide, low), from) in moments.iter_mut().zip(&mut bf16_moments).zip(&self.moments) {
            match from {
                Some(from) if from.dtype() == DType::BF16 => {
                    *low = from.download(device)?.into_iter().map(Element::from_f32).collect();
                }
                Some(from) => *wide = from.download(device)?,
                None => {}
            }
        }
        let master = self.master.read(device, self.number)?;
        let norm = self.norm.as_ref().map(|norm| norm.download(device)).transpose()?;
        let norm = norm.and_then(|norm| norm.first().copied()).unwrap_or_default();
        let Self { len, stored, .. } = *self;
        Ok(HostParamState { master, moments, bf16_moments, norm, len, stored, applied, lost: None })
    }

    /// Waits for the device and returns the `f32` values of its parameter, `param`.
    pub(super) fn values(&self, device: &D, param: &Tensor<D>) -> Result<Vec<f32>, D> {
        match &self.master {
            MasterState::Copy(master) => master.download(device),
            MasterState::None | MasterState::Stochastic { .. } => param.download(device),
            MasterState::Remainder(_) | MasterState::Kahan(_) | MasterState::Scaled(_) => {
                Ok(self.read(device, 0)?.values_of(&param.download(device)?))
            }
        }
    }

    /// Returns the saved parts except for the step count; a number has no tensor.
    fn parts(&self) -> Vec<(StateKind, Option<&Tensor<D>>)> {
        let moments = self.moments.iter().zip(0..).filter_map(|(moment, place)| {
            let moment = moment.as_ref()?;
            Some((kind_of(moment, place), Some(moment)))
        });
        let norm = self.norm.as_ref().map(|norm| (StateKind::Norm, Some(norm)));
        self.master.parts().into_iter().chain(norm).chain(moments).collect()
    }

    /// Returns types and shapes of the saved parts, of a parameter of this shape.
    pub(super) fn specs(&self, shape: &[usize]) -> Vec<(StateKind, TensorSpec)> {
        let spec = |(kind, _): (StateKind, _)| (kind, kind.spec(self.stored, shape));
        self.parts().into_iter().map(spec).collect()
    }

    /// Waits for the device and returns the saved parts, of a parameter of this shape.
    pub(super) fn saved(
        &self,
        device: &D,
        shape: &[usize],
    ) -> Result<Vec<(StateKind, RawTensor)>, D> {
        let one = |(kind, tensor): (StateKind, Option<&Tensor<D>>)| {
            let bytes = match tensor {
                Some(tensor) => device.bits_of(tensor)?,
                None => self.number.to_le_bytes().into(),
            };
            let (spec, found) = (kind.spec(self.stored, shape), bytes.len());
            let expected = spec.bytes().unwrap_or(usize::MAX);
            let short = Error::Length { what: "bytes", found, shape: spec.shape.clone(), expected };
            Ok((kind, RawTensor::new(spec, bytes).ok_or(short)?))
        };
        self.parts().into_iter().map(one).collect()
    }

    /// Replaces its tensors by loaded ones.
    pub(super) fn put(&mut self, loaded: &mut StateTensors<D>) {
        let moments = self.moments.iter_mut().zip(0..).filter_map(|(moment, place)| {
            let moment = moment.as_mut()?;
            Some((kind_of(moment, place), moment))
        });
        let norm = self.norm.as_mut().map(|norm| (StateKind::Norm, norm));
        for (kind, place) in self.master.parts_mut().into_iter().chain(norm).chain(moments) {
            if let Some(tensor) = loaded.remove(&kind) {
                *place = tensor;
            }
        }
    }

    /// Returns a saved parameter and its state as tensors of `device`.
    pub(super) fn upload(
        device: &D,
        saved: &SavedParameter,
    ) -> Result<(Tensor<D>, StateTensors<D>), D> {
        let TensorSpec { dtype, shape } = saved.value.spec();
        let value = device.tensor_of(saved.value.bytes(), *dtype, shape)?;
        let one = |(kind, raw): &(StateKind, RawTensor)| {
            // The bits of a remainder lie in a tensor of the parameter's own type and shape.
            let spec = if *kind == StateKind::Remainder { saved.value.spec() } else { raw.spec() };
            let buffer = device.buffer_of(raw.bytes())?;
            Ok((*kind, Tensor::filling(buffer, spec.dtype, &spec.shape)))
        };
        let state = saved.kept.iter().map(one).collect::<Result<_, D>>()?;
        Ok((value, state))
    }
}

/// Returns the kind of a moment at this place in the rule's order.
fn kind_of<D: Kernels>(moment: &Tensor<D>, place: u8) -> StateKind {
    let is_bf16 = moment.dtype() == DType::BF16;
    if is_bf16 { StateKind::Bf16Moment(place) } else { StateKind::Moment(place) }
}

/// Returns a tensor of `dtype` whose elements are all `value`, rounded.
fn filled<D: Kernels>(
    device: &D,
    value: f32,
    dtype: DType,
    shape: &[usize],
) -> Result<Tensor<D>, D> {
    if value.to_bits() == 0 {
        return device.zeros_tensor(dtype, shape);
    }
    let elements = shape.iter().product();
    Tensor::upload(device, &vec![value; elements], shape, dtype)
}
