//! Eighteen failures of other mixed-precision software, each as a test on candle's tensors. A limit of candle's own is a test
//! that shows the limit, and says so in its name.

mod numbers;
mod scopes;
mod sets;
mod steps;
mod training;
mod windows;

use binade::prelude::*;
use binade_candle::{Candle, Error};
use binade_master_weights::SavedParameter;
use candle_core::{DType as Type, Device, Tensor, Var};

pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

pub(crate) const LOW: [Type; 2] = [Type::BF16, Type::F16];
pub(crate) const ALL: [Type; 3] = [Type::BF16, Type::F16, Type::F32];

/// Vector of candle's.
pub(crate) fn tensor(values: &[f32], dtype: Type) -> Result<Tensor> {
    Ok(Tensor::new(values, &Device::Cpu)?.to_dtype(dtype)?)
}

/// A parameter that is a `Var`.
pub(crate) fn var(name: &str, values: &[f32], dtype: Type) -> Result<Named<Tensor>> {
    Ok(Named::new(name, Var::from_tensor(&tensor(values, dtype)?)?.into_inner()))
}

/// Gradients by name, as a backward of this type would leave them.
pub(crate) fn set(grads: &[(&str, &[f32])], dtype: Type) -> Result<NamedGrads<Tensor>> {
    let one = |(name, values): &(&str, &[f32])| Ok(Named::new(*name, Some(tensor(values, dtype)?)));
    grads.iter().map(one).collect()
}

pub(crate) fn values(tensor: &Tensor) -> Result<Vec<f32>> {
    Ok(tensor.to_dtype(Type::F32)?.flatten_all()?.to_vec1()?)
}

pub(crate) fn optimizer(
    params: Vec<Named<Tensor>>,
    rule: UpdateRule,
) -> Result<MasterOptimizer<Candle>> {
    Ok(MasterOptimizer::new(Candle, params, Plan::new(rule)?)?)
}

/// Takes a step with `grads`, which are scaled already.
pub(crate) fn step<O>(
    scaler: &mut Scaler<Candle>,
    optimizer: &mut O,
    grads: NamedGrads<Tensor>,
) -> Result<Step>
where
    O: Optimizer<NamedGrads<Tensor>, binade_core::Finding, Error = Error>,
{
    let loss = tensor(&[1.0], Type::F32)?;
    let grads = scaler.scale(&loss)?.backward(|_| Ok(grads))?;
    let step = grads.unscale()?.step(optimizer)?;
    Ok(scaler.update(step)?.resolve()?)
}

/// State of an optimizer, as bytes.
pub(crate) fn saved(optimizer: &MasterOptimizer<Candle>) -> Result<Vec<SavedParameter>> {
    Ok(optimizer.save()?)
}
