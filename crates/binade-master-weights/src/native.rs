//! Masters in host memory: of tensors, and of models whose element type is a type parameter.

use crate::matching::{self, LOWERED, Place, RETYPED, unplaced};
use crate::step::{self, Factor};
use crate::{
    ConfigError, HostMasters, HostParamState, MasterWeights, OptimizerConfig, StepConstants, Sums,
    config::is_trainable,
};
use binade_core::{
    AmpTensor, DType, Element, FoundInf, HostDevice, HostDeviceError, Named, NamedGrads,
};
use half::{bf16, f16};
use std::{borrow::Cow, sync::Arc};

type Result<T, V = ()> = std::result::Result<V, HostDeviceError<<T as AmpTensor>::Error>>;

impl<T: AmpTensor> MasterWeights for HostDevice<T> {
    type Masters = HostMasters;

    fn masters(
        &self,
        params: &mut Vec<Named<T>>,
        config: &OptimizerConfig,
    ) -> Result<T, HostMasters> {
        let names = params.iter().map(|param| &*param.name);
        let mut masters = HostMasters::new(config, names).map_err(refuse)?;
        let lowered = started(&mut masters, params, config)?;
        for (param, low) in params.iter_mut().zip(lowered) {
            param.value = low;
        }
        Ok(masters)
    }

    fn set_config(&self, masters: &mut HostMasters, config: &OptimizerConfig) -> Result<T> {
        masters.set_config(config).map_err(refuse)
    }

    fn unlisted(&self, masters: &HostMasters, grads: &NamedGrads<T>) -> Vec<Arc<str>> {
        masters.unlisted(grads.iter().map(|grad| &grad.name))
    }

    fn step(
        &self,
        params: &mut Vec<Named<T>>,
        masters: &mut HostMasters,
        grads: NamedGrads<T>,
        found: &FoundInf,
    ) -> Result<T> {
        let facts = params.iter().map(|param| (&param.name, param.value.dtype()));
        let values = |place: usize, name: &_, grad: T| {
            HostDeviceError::same_shapes(name, &grad, &params[place].value)?;
            let rows = grad.rows().map(<[usize]>::to_vec);
            Ok(Terms { values: elements(grad), rows })
        };
        let grads = matched(facts, masters, grads, values)?;
        advance(params.iter_mut(), masters, grads, found, |param, constants, slot, grad| {
            let moved = move_one(&mut param.value, constants, slot, grad);
            moved.map_err(|_| mismatch(&param.name, LENGTHS))
        })
    }

    fn join(
        &self,
        params: &mut Vec<Named<T>>,
        masters: &mut HostMasters,
        mut more: Vec<Named<T>>,
        config: &OptimizerConfig,
    ) -> Result<T> {
        let names = more.iter().map(|param| &*param.name);
        let mut joined = masters.joining(config, names).map_err(refuse)?;
        let lowered = started(&mut joined, &more, config)?;
        more.iter_mut().zip(lowered).for_each(|(param, low)| param.value = low);
        masters.absorb(joined);
        params.append(&mut more);
        Ok(())
    }
}

pub(crate) const LENGTHS: &str = "its gradient has another length than the parameter";
const UNTRAINABLE: &str = "parameters are trained in bf16, f16 or f32, and it is of another type or would be stored as one: cast it first, or leave it out of the optimizer";
const ROWS: &str = "its sparse gradient needs rows of the parameter, each once, in ascending order";

/// Gradient as plain numbers.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) values: Vec<f32>,
    /// Rows of the parameter that the values are of; `None` for all.
    pub(crate) rows: Option<Vec<usize>>,
}

impl Terms {
    /// Returns the number of elements of a row.
    fn width(&self) -> usize {
        self.values.len() / self.rows.as_ref().map_or(1, Vec::len).max(1)
    }

    /// Returns the reason why this gradient does not fit a parameter with this number of elements.
    fn misfit(&self, len: usize) -> Option<&'static str> {
        let Some(rows) = &self.rows else {
            return (self.values.len() != len).then_some(LENGTHS);
        };
        let width = self.width();
        let ascend = rows.is_sorted_by(|row, next| row < next);
        let are_there = rows.last().is_none_or(|last| (last + 1) * width <= len);
        let are_even = self.values.len() == rows.len() * width;
        (!(ascend && are_there && are_even)).then_some(ROWS)
    }
}

/// A parameter's id, and its gradient.
type IdGrad = (usize, Terms);

/// Returns gradients in the order of parameters given by name and type. An error comes before any change, and before a skip, so that a mismatch is
/// reported at the first step, which in f16 is often skipped.
pub(crate) fn matched<'p, T: AmpTensor>(
    params: impl ExactSizeIterator<Item = (&'p Arc<str>, DType)> + Clone,
    masters: &HostMasters,
    grads: NamedGrads<T>,
    values: impl Fn(usize, &Arc<str>, T) -> Result<T, Terms>,
) -> Result<T, Vec<Option<IdGrad>>> {
    let names = params.clone().map(|(name, _)| name);
    let places = matching::places(masters, names, grads.iter().map(|grad| &grad.name));
    let dtypes: Vec<_> = params.map(|(_, dtype)| dtype).collect();
    let mut matched = vec![None; dtypes.len()];
    for (Named { name, value }, place) in grads.into_iter().zip(places) {
        let found = place.and_then(|Place { param, id }| Some((param, id?, masters.slot(id?)?)));
        let (place, id, slot) = found.ok_or_else(|| mismatch(&name, unplaced(masters, &name)))?;
        let Some(grad) = value else { continue };
        let grad = values(place, &name, grad)?;
        if let Some(why) = grad.misfit(slot.len) {
            return Err(mismatch(&name, why));
        }
        if grad.rows.is_some() {
            masters.check_sparse(id).map_err(HostDeviceError::Train)?;
        }
        if masters.lacks_master(slot, dtypes[place]) {
            return Err(mismatch(&name, LOWERED));
        }
        if slot.is_retyped(dtypes[place]) {
            return Err(mismatch(&name, RETYPED));
        }
        matched[place] = Some((id, grad));
    }
    Ok(matched)
}

/// Moves each parameter that has a gradient, unless `found` is raised.
pub(crate) fn advance<P, E>(
    params: impl Iterator<Item = P>,
    masters: &mut HostMasters,
    grads: Vec<Option<IdGrad>>,
    found: &FoundInf,
    mut step: impl FnMut(
        P,
        &StepConstants,
        &mut HostParamState,
        &Terms,
    ) -> std::result::Result<(), HostDeviceError<E>>,
) -> std::result::Result<(), HostDeviceError<E>> {
    if found.is_raised() {
        return Ok(());
    }
    matching::require_gradients(&grads).map_err(HostDeviceError::Train)?;
    let measured = masters.clips().then(|| norm_of(&grads));
    for (param, grad) in params.zip(grads) {
        if let Some((id, grad)) = grad
            && let Some((mut constants, slot)) = masters.next(id)
        {
            if let Some(norm) = measured {
                constants = constants.clipped(norm);
            }
            step(param, &constants, slot, &grad)?;
        }
    }
    Ok(())
}

/// Returns the norm of all gradients together.
fn norm_of(grads: &[Option<IdGrad>]) -> f32 {
    let mut all = Sums::default();
    for (_, grad) in grads.iter().flatten() {
        all.append(Sums::of_grads(grad.values.iter().copied()));
    }
    all.norm()
}

/// Starts each of `params`, and returns them in their storage types.
fn started<T: AmpTensor>(
    masters: &mut HostMasters,
    params: &[Named<T>],
    config: &OptimizerConfig,
) -> Result<T, Vec<T>> {
    let start = |Named { name, value }: &Named<T>| {
        let now = trainable(name, value.dtype())?;
        let mut low = value.cast(config.dtype_of(name, now))?;
        let (values, stored) = (elements(value.clone()), trainable(name, low.dtype())?);
        if let Cow::Owned(copies) = config.store.before_lowering(&values, stored) {
            low.map_f32(&mut |i, old| copies.get(i).copied().unwrap_or(old));
        }
        masters.insert(name, values, stored).map_err(refuse)?;
        Ok(low)
    };
    params.iter().map(start).collect()
}

/// Moves a parameter, or the rows of it that its gradient has.
fn move_one<T: AmpTensor>(
    param: &mut T,
    constants: &StepConstants,
    slot: &mut HostParamState,
    grad: &Terms,
) -> std::result::Result<(), step::LengthError> {
    let Terms { values, rows } = grad;
    let Some(rows) = rows else { return move_all(param, constants, slot, values) };
    let (mut moved, mut state) = (param.with_rows(rows), slot.gather(rows, grad.width()));
    move_all(&mut moved, constants, &mut state, values)?;
    param.put_rows(moved);
    slot.scatter(state, rows, grad.width());
    Ok(())
}

fn move_all<T: AmpTensor>(
    param: &mut T,
    constants: &StepConstants,
    slot: &mut HostParamState,
    grad: &[f32],
) -> std::result::Result<(), step::LengthError> {
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
) -> std::result::Result<(), step::LengthError> {
    let mut low = typed::<T, C>(param);
    let how = (constants, Factor::ONE);
    slot.step(how, grad, &mut low, |constants, slices| step::pass(constants, Factor::ONE, slices))?;
    let mut low = low.into_iter();
    param.map_f32(&mut |_, old| low.next().map_or(old, Element::to_f32));
    Ok(())
}

/// Elements of a tensor that is of this type.
fn typed<T: AmpTensor, C: Element>(tensor: &T) -> Vec<C> {
    elements(tensor.clone()).into_iter().map(C::from_f32).collect()
}

pub(crate) fn elements<T: AmpTensor>(mut tensor: T) -> Vec<f32> {
    let mut elements = Vec::new();
    tensor.map_f32(&mut |_, x| {
        elements.push(x);
        x
    });
    elements
}

fn trainable<E>(name: &Arc<str>, dtype: DType) -> std::result::Result<DType, HostDeviceError<E>> {
    if is_trainable(dtype) { Ok(dtype) } else { Err(mismatch(name, UNTRAINABLE)) }
}

pub(crate) fn mismatch<E>(parameter: &Arc<str>, why: &'static str) -> HostDeviceError<E> {
    HostDeviceError::Mismatch { parameter: parameter.clone(), why }
}

pub(crate) fn refuse<E>(error: ConfigError) -> HostDeviceError<E> {
    HostDeviceError::Refused(Box::new(error))
}
