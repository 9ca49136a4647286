//! Masters for a stranger's host tensor.

use crate::matching::{self, LOWERED, Place, RETYPED};
use crate::step::{self, Factor};
use crate::{
    ConfigError, HostMasters, HostParamState, MasterWeights, OptimizerConfig, StepConstants,
    config::is_trainable,
};
use binade_core::{
    AmpTensor, DType, Element, FoundInf, HostDevice, HostDeviceError, Named, NamedGrads,
};
use half::{bf16, f16};
use std::{borrow::Cow, sync::Arc};

impl<T: AmpTensor> MasterWeights for HostDevice<T> {
    type Masters = HostMasters;

    fn masters(
        &self,
        params: &mut Vec<Named<T>>,
        config: &OptimizerConfig,
    ) -> Result<HostMasters, HostDeviceError<T::Error>> {
        let names = params.iter().map(|param| &*param.name);
        let mut masters = HostMasters::new(config, names).map_err(refuse)?;
        let lowered = started(&mut masters, params, config)?;
        for (param, low) in params.iter_mut().zip(lowered) {
            param.value = low;
        }
        Ok(masters)
    }

    fn set_config(
        &self,
        masters: &mut HostMasters,
        config: &OptimizerConfig,
    ) -> Result<(), HostDeviceError<T::Error>> {
        masters.set_config(config).map_err(refuse)
    }

    fn step(
        &self,
        params: &mut Vec<Named<T>>,
        masters: &mut HostMasters,
        grads: NamedGrads<T>,
        found: &FoundInf,
    ) -> Result<(), HostDeviceError<T::Error>> {
        // Before the skip, so that a set that does not fit is told at the first step, which in f16 is often skipped.
        let grads = matched(params, masters, grads)?;
        if found.is_raised() {
            return Ok(());
        }
        matching::require_gradients(&grads).map_err(HostDeviceError::Train)?;
        for (param, grad) in params.iter_mut().zip(grads) {
            if let Some((id, grad)) = grad
                && let Some((constants, slot)) = masters.next(id)
            {
                move_one(&mut param.value, &constants, slot, &grad)
                    .map_err(|_| mismatch(&param.name, LENGTHS))?;
            }
        }
        Ok(())
    }

    fn join(
        &self,
        params: &mut Vec<Named<T>>,
        masters: &mut HostMasters,
        mut more: Vec<Named<T>>,
        config: &OptimizerConfig,
    ) -> Result<(), HostDeviceError<T::Error>> {
        let names = more.iter().map(|param| &*param.name);
        let mut joined = masters.joining(config, names).map_err(refuse)?;
        let lowered = started(&mut joined, &more, config)?;
        more.iter_mut().zip(lowered).for_each(|(param, low)| param.value = low);
        masters.absorb(joined);
        params.append(&mut more);
        Ok(())
    }
}

const STRANGER: &str = "a gradient came for it that no parameter of the optimizer is waiting for: it has none of that name, or a gradient had come already";
const LENGTHS: &str = "its gradient has another length than the parameter";
const UNTRAINABLE: &str = "parameters are trained in bf16, f16 or f32, and it is of another type or would be stored as one: cast it first, or leave it out of the optimizer";
/// A parameter's id, and its gradient as plain numbers.
type IdGrad = (usize, Vec<f32>);

/// Returns gradients in the parameters' order. An error comes before anything has moved.
fn matched<T: AmpTensor>(
    params: &[Named<T>],
    masters: &HostMasters,
    grads: NamedGrads<T>,
) -> Result<Vec<Option<IdGrad>>, HostDeviceError<T::Error>> {
    let names = params.iter().map(|param| &param.name);
    let places = matching::places(masters, names, grads.iter().map(|grad| &grad.name));
    let mut matched = vec![None; params.len()];
    for (Named { name, value }, place) in grads.into_iter().zip(places) {
        let found = place.and_then(|Place { param, id }| Some((param, id?, masters.slot(id?)?)));
        let (place, id, slot) = found.ok_or_else(|| mismatch(&name, STRANGER))?;
        let Some(grad) = value else { continue };
        let param = &params[place].value;
        HostDeviceError::same_shapes(&name, &grad, param)?;
        let grad = elements(grad);
        if grad.len() != slot.len {
            return Err(mismatch(&name, LENGTHS));
        }
        if masters.lacks_master(slot, param.dtype()) {
            return Err(mismatch(&name, LOWERED));
        }
        if slot.is_retyped(param.dtype()) {
            return Err(mismatch(&name, RETYPED));
        }
        matched[place] = Some((id, grad));
    }
    Ok(matched)
}

/// Starts each of `params`, and gives them as they are to be stored.
fn started<T: AmpTensor>(
    masters: &mut HostMasters,
    params: &[Named<T>],
    config: &OptimizerConfig,
) -> Result<Vec<T>, HostDeviceError<T::Error>> {
    let start = |Named { name, value }: &Named<T>| {
        let now = trainable(name, value.dtype())?;
        let mut low = value.cast(config.dtype_of(name, now))?;
        let (values, stored) = (elements(value.clone()), trainable(name, low.dtype())?);
        if let Cow::Owned(copies) = config.store().before_lowering(&values, stored) {
            low.map_f32(&mut |i, old| copies.get(i).copied().unwrap_or(old));
        }
        masters.insert(name, values, stored).map_err(refuse)?;
        Ok(low)
    };
    params.iter().map(start).collect()
}

fn move_one<T: AmpTensor>(
    param: &mut T,
    constants: &StepConstants,
    slot: &mut HostParamState,
    grad: &[f32],
) -> Result<(), step::LengthError> {
    match param.dtype() {
        DType::BF16 => stepped::<T, bf16>(param, constants, slot, grad),
        DType::F16 => stepped::<T, f16>(param, constants, slot, grad),
        _ => stepped::<T, f32>(param, constants, slot, grad),
    }
}

fn stepped<T: AmpTensor, C: Element>(
    param: &mut T,
    constants: &StepConstants,
    slot: &mut HostParamState,
    grad: &[f32],
) -> Result<(), step::LengthError> {
    let mut low = typed::<T, C>(param);
    let how = (constants, Factor::ONE);
    slot.step(how, grad, &mut low, |slices| step::step(constants, Factor::ONE, slices))?;
    param.map_f32(&mut |i, old| low.get(i).map_or(old, |x| x.to_f32()));
    Ok(())
}

/// Elements of a tensor that is of this type.
fn typed<T: AmpTensor, C: Element>(tensor: &T) -> Vec<C> {
    elements(tensor.clone()).into_iter().map(C::from_f32).collect()
}

fn elements<T: AmpTensor>(mut tensor: T) -> Vec<f32> {
    let mut elements = Vec::new();
    tensor.map_f32(&mut |_, x| {
        elements.push(x);
        x
    });
    elements
}

fn trainable<E>(name: &Arc<str>, dtype: DType) -> Result<DType, HostDeviceError<E>> {
    if is_trainable(dtype) { Ok(dtype) } else { Err(mismatch(name, UNTRAINABLE)) }
}

pub(crate) fn mismatch<E>(parameter: &Arc<str>, why: &'static str) -> HostDeviceError<E> {
    HostDeviceError::Mismatch { parameter: parameter.clone(), why }
}

pub(crate) fn refuse<E>(error: ConfigError) -> HostDeviceError<E> {
    HostDeviceError::Refused(Box::new(error))
}
