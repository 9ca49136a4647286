//! Builders of candle's own layers over parameters that Binade keeps.

use binade_core::Named;
use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder, VarMap};
use std::collections::HashMap;
use std::sync::PoisonError;

/// Returns a builder of models over `params`, each in its own type. `params` are an optimizer's parameters, such as half `Var`s with masters; add the
/// buffers of [`split_buffers`](crate::split_buffers) by `params.iter().chain(&buffers)`.
///
/// The layers hold the `Var`s themselves, so the next forward pass sees a step. candle's own builder would cast each parameter to the builder's type,
/// and a layer that holds a cast never sees a step.
pub fn var_builder<'p>(params: impl IntoIterator<Item = &'p Named<Tensor>>) -> VarBuilder<'static> {
    let mut params = params.into_iter().peekable();
    let first = params.peek().map(|param| &param.value);
    let dtype = first.map_or(DType::F32, Tensor::dtype);
    let device = first.map_or(Device::Cpu, |tensor| tensor.device().clone());
    let by_name = params.map(|param| (param.name.to_string(), param.value.clone())).collect();
    VarBuilder::from_backend(Box::new(AsTheyAre(by_name)), dtype, device)
}

/// Returns a builder of models for one pass. The layers see the `f32` `Var`s of `map` cast to the builder's type, initially `dtype`.
///
/// Parameters that the map lacks are made in `f32`. The casts are part of candle's graph, so gradients belong to the `f32` `Var`s and are in `f32`. A
/// cast does not follow a step: build the model again for each pass. `VarBuilder::to_dtype` gives single layers another type.
pub fn casting_var_builder(map: &VarMap, dtype: DType, device: &Device) -> VarBuilder<'static> {
    VarBuilder::from_backend(Box::new(Casting(map.clone())), dtype, device.clone())
}

struct AsTheyAre(HashMap<String, Tensor>);

impl SimpleBackend for AsTheyAre {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        init: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let own = self.0.get(name).map_or(dtype, Tensor::dtype);
        SimpleBackend::get(&self.0, shape, name, init, own, device)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        let own = self.0.get(name).map_or(dtype, Tensor::dtype);
        SimpleBackend::get_unchecked(&self.0, name, own, device)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

struct Casting(VarMap);

impl SimpleBackend for Casting {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        init: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        self.0.get(shape, name, init, DType::F32, device)?.to_dtype(dtype)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, _: &Device) -> Result<Tensor> {
        let vars = self.0.data().lock().unwrap_or_else(PoisonError::into_inner);
        let missing = || candle_core::Error::CannotFindTensor { path: name.to_owned() };
        vars.get(name).ok_or_else(missing)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.0.data().lock().unwrap_or_else(PoisonError::into_inner).contains_key(name)
    }
}
