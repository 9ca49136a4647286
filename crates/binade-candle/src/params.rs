//! Parameters by name, and their gradients out of candle's store.

use crate::Error;
use binade_core::{Named, NamedGrads, NativeError};
use candle_core::backprop::GradStore;
use candle_core::{Tensor, Var};
use candle_nn::VarMap;
use std::collections::HashMap;
use std::sync::PoisonError;

/// A model's parameters, sorted by name.
///
/// `VarMap::all_vars` has the order of a hash map, another in every process; what is keyed by place would go to other
/// parameters after a restart. The tensors are the map's own: a step sets its `Var`s.
pub fn params(map: &VarMap) -> Vec<Named<Tensor>> {
    let vars = map.data().lock().unwrap_or_else(PoisonError::into_inner);
    named(vars.iter().map(|(name, var)| (name.clone(), var.clone())))
}

/// Parameters that are kept elsewhere than in a [`VarMap`], sorted by name.
pub fn named(vars: impl IntoIterator<Item = (String, Var)>) -> Vec<Named<Tensor>> {
    let mut named: Vec<_> =
        vars.into_iter().map(|(name, var)| Named::new(name, var.into_inner())).collect();
    named.sort_by(|a, b| a.name.cmp(&b.name));
    named
}

/// The gradient of each of `params`, in their order and as backward left it; `None` where candle has none.
///
/// candle cuts its graph in operations that have no backward, `LayerNorm` with a bias, `RmsNorm` and `softmax_last_dim` among
/// them, and says nothing: what is above them gets no gradient, and candle's optimizers leave it as it is. Here it is counted,
/// and the step's report names it. [`ops`](crate::ops) has what does not cut.
pub fn grads(store: &GradStore, params: &[Named<Tensor>]) -> NamedGrads<Tensor> {
    let grad =
        |param: &Named<Tensor>| Named::new(param.name.clone(), store.get(&param.value).cloned());
    params.iter().map(grad).collect()
}

/// Runs candle's backward and takes the gradients of `params`: what `ScaledLoss::backward` is given.
///
/// `params` are the optimizer's own: where a plan has lowered a `Var`, it has another one there than the map that the model was made
/// with, and gradients of the old ones would move the new ones, which no model computes with.
///
/// # Errors
///
/// candle's, and where there are no parameters.
pub fn backward(loss: &Tensor, params: &[Named<Tensor>]) -> Result<NamedGrads<Tensor>, Error> {
    some(params)?;
    Ok(grads(&loss.backward()?, params))
}

/// Sets the `Var`s of a map to `values`, as `MasterOptimizer::export_f32` gives them: what candle's `VarMap::save` is to write.
///
/// Once a plan stores parameters in another type, the map's own `Var`s are no longer those that steps set, and hold what the
/// model began with.
///
/// # Errors
///
/// Where the map has no `Var` of a name, before any is set; candle's, where one is of another length.
pub fn set_map(map: &VarMap, values: &[Named<Vec<f32>>]) -> Result<(), Error> {
    let vars = map.data().lock().unwrap_or_else(PoisonError::into_inner);
    let found = |Named { name, .. }: &Named<Vec<f32>>| {
        let unknown = || NativeError::Mismatch { parameter: name.clone(), why: UNKNOWN };
        vars.get(&**name).ok_or_else(unknown)
    };
    let places = values.iter().map(found).collect::<Result<Vec<_>, _>>()?;
    for (var, Named { value, .. }) in places.into_iter().zip(values) {
        let new = Tensor::from_slice(value, var.shape(), var.device())?;
        var.set(&new.to_dtype(var.dtype())?)?;
    }
    Ok(())
}

const UNKNOWN: &str =
    "the `VarMap` has no `Var` of that name; give the map that the parameters came from";

/// Refuses no parameters at all: nothing would be trained, and no step would say so.
pub(crate) fn some(params: &[Named<Tensor>]) -> Result<(), Error> {
    if params.is_empty() { Err(Error::NoParameters) } else { Ok(()) }
}

/// Refuses one `Var` under two names, as tied weights have: its gradient would be applied under each.
pub(crate) fn untied<'p>(params: impl IntoIterator<Item = &'p Named<Tensor>>) -> Result<(), Error> {
    let mut names = HashMap::new();
    for param in params.into_iter().filter(|param| param.value.is_variable()) {
        if let Some(first) = names.insert(param.value.id(), &param.name) {
            let (first, second) = (first.clone(), param.name.clone());
            return Err(Error::Tied { first, second });
        }
    }
    Ok(())
}
