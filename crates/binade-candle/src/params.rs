//! Parameters by name, and their gradients out of candle's store.

use crate::Error;
use binade_core::{HostDeviceError, Named, NamedGrads};
use candle_core::backprop::GradStore;
use candle_core::{DType, Tensor, Var};
use candle_nn::VarMap;
use std::collections::HashMap;
use std::sync::PoisonError;

/// Returns a model's parameters, sorted by name.
///
/// `VarMap::all_vars` has the order of a hash map, which differs between processes: after a restart, state saved by position would belong to other
/// parameters. The tensors are the map's own, so a step sets its `Var`s.
pub fn params(map: &VarMap) -> Vec<Named<Tensor>> {
    let vars = map.data().lock().unwrap_or_else(PoisonError::into_inner);
    named(vars.iter().map(|(name, var)| (name.clone(), var.clone())))
}

/// Returns `vars` as parameters sorted by name, for a model without a [`VarMap`].
pub fn named(vars: impl IntoIterator<Item = (String, Var)>) -> Vec<Named<Tensor>> {
    let mut named: Vec<_> =
        vars.into_iter().map(|(name, var)| Named::new(name, var.into_inner())).collect();
    named.sort_by(|a, b| a.name.cmp(&b.name));
    named
}

/// Names of the buffers of candle's [`BatchNorm`](candle_nn::BatchNorm), without the layer's path.
pub const RUNNING_STATS: [&str; 2] = ["running_mean", "running_var"];

/// Splits `params` into trained parameters and buffers. Buffers are kept in `f32` and have no gradient.
///
/// A buffer's name is one of `names`, or ends in one after a dot: `running_mean` selects `body.0.norm.running_mean` too. Give the optimizer the first
/// list, and [`var_builder`](crate::var_builder) both.
///
/// ```
/// use binade_candle::{RUNNING_STATS, params, split_buffers};
/// use candle_core::{DType, Device};
/// use candle_nn::{VarBuilder, VarMap};
///
/// let map = VarMap::new();
/// candle_nn::batch_norm(4, 1e-5, VarBuilder::from_varmap(&map, DType::F32, &Device::Cpu).pp("norm"))?;
/// let [trained, buffers] = split_buffers(params(&map), &RUNNING_STATS)?;
/// assert_eq!((&*trained[0].name, &*trained[1].name), ("norm.bias", "norm.weight"));
/// assert_eq!((&*buffers[0].name, &*buffers[1].name), ("norm.running_mean", "norm.running_var"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// `Mismatch` if no parameter has one of `names`, or a buffer is not in `f32`.
pub fn split_buffers(
    params: Vec<Named<Tensor>>,
    names: &[&str],
) -> Result<[Vec<Named<Tensor>>; 2], Error> {
    let refuse = |parameter, why| Err(HostDeviceError::Mismatch { parameter, why }.into());
    if let Some(name) = names.iter().find(|name| !params.iter().any(|param| is_named(param, name)))
    {
        return refuse((*name).into(), NO_BUFFER);
    }
    let (buffers, trained): (Vec<_>, Vec<_>) =
        params.into_iter().partition(|param| names.iter().any(|name| is_named(param, name)));
    match buffers.iter().find(|buffer| buffer.value.dtype() != DType::F32) {
        Some(buffer) => refuse(buffer.name.clone(), LOW_BUFFER),
        None => Ok([trained, buffers]),
    }
}

fn is_named(param: &Named<Tensor>, name: &str) -> bool {
    param.name.strip_suffix(name).is_some_and(|head| head.is_empty() || head.ends_with('.'))
}

const NO_BUFFER: &str =
    "no parameter has that name, whole or behind a dot; look for a typing error";
const LOW_BUFFER: &str = "it is a buffer, and buffers are kept in f32: make the `VarMap` with a builder of F32, and let the optimizer's configuration lower what is trained";

/// Returns the gradients of `params` in their order, as backward computed them; `None` where candle has none.
///
/// candle silently cuts its graph at operations without a backward pass, such as `LayerNorm` with a bias, `RmsNorm`, `softmax_last_dim` and `rope`.
/// Parameters above the cut get no gradient, and candle's optimizers leave them as they are. Binade counts these parameters, and the step's report
/// names them. The operations of [`ops`](crate::ops) do not cut the graph.
pub fn grads(store: &GradStore, params: &[Named<Tensor>]) -> NamedGrads<Tensor> {
    let grad =
        |param: &Named<Tensor>| Named::new(param.name.clone(), store.get(&param.value).cloned());
    params.iter().map(grad).collect()
}

/// Runs candle's backward pass and returns the gradients of `params`, for the closure of `ScaledLoss::backward`.
///
/// Give the optimizer's own `params`. If a configuration has lowered a `Var`, the optimizer's `Var` is not the one of the map. Gradients of the map's
/// `Var`s would then step the optimizer's, with which no model computes.
///
/// # Errors
///
/// If there are no parameters; candle's errors.
pub fn backward<G: From<NamedGrads<Tensor>>>(
    loss: &Tensor,
    params: &[Named<Tensor>],
) -> Result<G, Error> {
    require_parameters(params)?;
    Ok(grads(&loss.backward()?, params).into())
}

/// Sets the `Var`s of a map to `values` from `MasterOptimizer::export_f32`, so that candle's `VarMap::save` writes them.
///
/// If a configuration stores parameters in another type, steps do not set the map's own `Var`s: they keep their initial values.
///
/// # Errors
///
/// If the map has no `Var` of a name: nothing is set then. candle's error, if a value has another length.
pub fn set_map(map: &VarMap, values: &[Named<Vec<f32>>]) -> Result<(), Error> {
    let vars = map.data().lock().unwrap_or_else(PoisonError::into_inner);
    let found = |Named { name, .. }: &Named<Vec<f32>>| {
        let unknown = || HostDeviceError::Mismatch { parameter: name.clone(), why: UNKNOWN };
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

/// Refuses an empty list of parameters: no step would report that nothing is trained.
pub(crate) fn require_parameters(params: &[Named<Tensor>]) -> Result<(), Error> {
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
