//! Masters for models whose element type is a type parameter.

use crate::native::{LENGTHS, Terms, advance, matched, mismatch, refuse};
use crate::step::{self, Factor};
use crate::{HostMasters, MasterOptimizer, MasterWeights, OptimizerConfig, StepConstants};
use binade_core::{
    Element, FoundInf, HostDeviceError, HostTensor, HostTypeError, Named, NamedGrads, StaticCast,
    StaticSet, TypedModel,
};
use std::{borrow::Cow, sync::Arc};

type Result<T> = std::result::Result<T, HostDeviceError<HostTypeError>>;

impl<P: StaticSet> MasterOptimizer<TypedModel<P>> {
    /// Takes over a model in `f32`, whose values become the masters, and trains it in the type of `P`.
    ///
    /// [`new`](Self::new) would be given a model that has lost its lower bits already.
    ///
    /// # Errors
    ///
    /// Errors of [`MasterWeights::masters`], a configuration that stores parameters in another type than `P` has, and a cast that lists other
    /// parameters or in another order, by both names.
    pub fn lower<M>(mut full: M, config: OptimizerConfig) -> Result<Self>
    where
        M: StaticSet<Element = f32> + StaticCast<P::Element, Output = P>,
    {
        let mut params = full.cast();
        let masters = started(&mut full, &mut params, &config)?;
        Ok(Self::of(TypedModel::new(), masters, config, params))
    }

    /// The model in `f32`: masters where there are some, and so more bits than `params` has.
    pub fn full(&self) -> P::Output
    where
        P: StaticCast<f32, Output: StaticSet<Element = f32>>,
    {
        let mut full = self.params.cast();
        let mut low = self.params.clone();
        for (to, from) in full.slices().into_iter().zip(low.slices()) {
            let masters = self.masters().get(&from.name);
            let values =
                masters.map_or_else(|| widened(from.value), |slot| slot.values(from.value));
            to.value.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        }
        full
    }
}

impl<P: StaticSet> MasterWeights for TypedModel<P> {
    type Masters = HostMasters;

    fn masters(&self, params: &mut P, config: &OptimizerConfig) -> Result<HostMasters> {
        started(&mut params.clone(), params, config)
    }

    fn set_config(&self, masters: &mut HostMasters, config: &OptimizerConfig) -> Result<()> {
        masters.set_config(config).map_err(refuse)
    }

    fn unlisted(&self, masters: &HostMasters, grads: &NamedGrads<HostTensor>) -> Vec<Arc<str>> {
        masters.unlisted(grads.iter().map(|grad| &grad.name))
    }

    fn step(
        &self,
        params: &mut P,
        masters: &mut HostMasters,
        grads: NamedGrads<HostTensor>,
        found: &FoundInf,
    ) -> Result<()> {
        let params = params.slices();
        let facts = params.iter().map(|param| (&param.name, P::Element::DTYPE));
        // Unscaled gradients are `f32`, and need no conversion.
        let values = |_, _: &_, grad| match grad {
            HostTensor::F32(values) => Ok(Terms { values, rows: None }),
            narrow => Ok(Terms { values: narrow.to_f32(), rows: None }),
        };
        let grads = matched(facts, masters, grads, values)?;
        advance(params.into_iter(), masters, grads, found, |param, constants, slot, grad| {
            let run = |constants: &StepConstants, slices: step::Slices<'_, _, _>| {
                step::pass(constants, Factor::ONE, slices)
            };
            let moved = slot.step((constants, Factor::ONE), &grad.values, param.value, run);
            moved.map_err(|_| mismatch(&param.name, LENGTHS))
        })
    }
}

const RETYPED: &str = "the configuration would store it in another type than the model has, and a static type cannot change: leave `with_storage` out, or name the model's type there";

const UNEVEN: &str = "its slice is empty, or of another length in f32 than in the type that is trained: an array that does not lie row after row has no slice, so bring it into that order first";

const ORDER: &str = "the model in f32 and its cast to the type that is trained list these at one place: `StaticCast` and `StaticSet` of both must give the same parameters in the same order";

const ONLY_ONE: &str = "the model in f32 and its cast to the type that is trained do not both have it: `StaticCast` and `StaticSet` of both must give the same parameters in the same order";

/// Masters of `full`, and `params` as the configuration's store rounds them to begin with.
fn started<M: StaticSet, P: StaticSet>(
    full: &mut M,
    params: &mut P,
    config: &OptimizerConfig,
) -> Result<HostMasters> {
    let (full, params) = (full.slices(), params.slices());
    same_names(&full, &params)?;
    let names = params.iter().map(|param| &*param.name);
    let mut masters = HostMasters::new(config, names).map_err(refuse)?;
    let stored = P::Element::DTYPE;
    for (param, from) in params.into_iter().zip(full) {
        if config.dtype_of(&param.name, stored) != stored {
            return Err(mismatch(&param.name, RETYPED));
        }
        if from.value.len() != param.value.len() || param.value.is_empty() {
            return Err(mismatch(&param.name, UNEVEN));
        }
        let values = widened(from.value);
        if let Cow::Owned(copies) = config.store.before_lowering(&values, stored) {
            P::Element::narrow(&copies, param.value);
        }
        masters.insert(&param.name, values, stored).map_err(refuse)?;
    }
    Ok(masters)
}

/// Places are parameters: a cast that gives them in another order would start each from another's values.
fn same_names<A, B>(full: &[Named<A>], low: &[Named<B>]) -> Result<()> {
    let differ = full.iter().zip(low).find(|(a, b)| a.name != b.name);
    if let Some((Named { name: first, .. }, Named { name: second, .. })) = differ {
        let (first, second) = (first.clone(), second.clone());
        return Err(HostDeviceError::Names { first, second, why: ORDER });
    }
    let longer = full.get(low.len()).map(|param| &param.name);
    match longer.or_else(|| low.get(full.len()).map(|param| &param.name)) {
        Some(name) => Err(mismatch(name, ONLY_ONE)),
        None => Ok(()),
    }
}

fn widened<E: Element>(slice: &[E]) -> Vec<f32> {
    slice.iter().map(|x| x.to_f32()).collect()
}
