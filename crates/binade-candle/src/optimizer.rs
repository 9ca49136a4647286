//! Steps of candle's own optimizers by checked and unscaled gradients.

mod masters;

use crate::{
    Candle, Error, device,
    params::{require_parameters, untied},
};
use binade_core::{FoundInf, HostDeviceError, Named, NamedGrads, Optimizer, SparseGrads};
use binade_master_weights::HostOptimizer;
use candle_core::backprop::GradStore;
use candle_core::{DType, Tensor, Var};
use candle_nn::Optimizer as CandleOptimizer;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Optimizer of candle that steps `f32` `Var`s, whatever the type of the parameters.
///
/// * The optimizer steps a parameter in `f32` directly. A parameter in sixteen bits gets an `f32` copy, its master: the optimizer steps the master,
///   and the parameter is rounded from it. Over half `Var`s, candle's optimizer alone would keep its moments in sixteen bits. In f16 the eps of
///   `AdamW` would then be 0, and a second moment of 0 would give NaN.
/// * The optimizer is not called in a skipped step. It gets gradients unscaled, dense and in `f32`.
/// * A parameter without a gradient stays as it is, as with candle alone; the step's report names it.
/// * Gradients of other names or shapes are an error, in a skipped step too. Nothing has changed then.
///
/// The state of candle's optimizer cannot be read. [`export_f32`](Self::export_f32) returns the masters: with them, a run of an optimizer without
/// state, such as `SGD`, resumes to the bit. The moments of `AdamW` start again.
pub struct Wrapped<O> {
    pairs: Vec<Pair>,
    /// Optimizer of candle: set the learning rate here.
    pub inner: O,
}

impl<O: CandleOptimizer> Wrapped<O> {
    /// Makes an optimizer of `params`, all of them `Var`s.
    ///
    /// # Errors
    ///
    /// If there are no parameters, one has a type that cannot be trained, one is no `Var`, or two are the same; candle's errors.
    pub fn new(params: &[Named<Tensor>], config: O::Config) -> Result<Self, Error> {
        require_parameters(params)?;
        untied(params)?;
        let pairs = params.iter().map(Pair::new).collect::<Result<Vec<_>, Error>>()?;
        let masters = pairs.iter().map(|pair| pair.master.clone()).collect();
        Ok(Self { inner: O::new(masters, config)?, pairs })
    }

    fn apply(&mut self, grads: NamedGrads<Tensor>) -> Result<(), Error> {
        self.inner.step(&for_masters(&self.pairs, grads)?)?;
        self.pairs.iter().try_for_each(Pair::lower)
    }
}

impl<O: CandleOptimizer> Optimizer<SparseGrads<Tensor>, FoundInf> for Wrapped<O> {
    type Error = Error;

    fn step(&mut self, grads: SparseGrads<Tensor>, found: &FoundInf) -> Result<(), Error> {
        // Compared before the skip, so that even a skipped first step reports a wrong set; in f16 the first step is often skipped.
        fit(&self.pairs, &grads)?;
        HostOptimizer::new(Candle, |grads| self.apply(grads)).step(grads, found)
    }
}

impl<O> fmt::Debug for Wrapped<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrapped").field("parameters", &self.pairs.len()).finish_non_exhaustive()
    }
}

/// Parameter, and the `Var` that the optimizer steps for it.
struct Pair {
    name: Arc<str>,
    stored: Var,
    master: Var,
}

impl Pair {
    fn new(param: &Named<Tensor>) -> Result<Self, Error> {
        if !param.value.is_variable() {
            return Err(Error::NotVar { name: param.name.clone() });
        }
        let stored = Var::from_tensor(&param.value)?;
        let master = match stored.dtype() {
            DType::F32 => stored.clone(),
            DType::BF16 | DType::F16 => Var::from_tensor(&stored.detach().to_dtype(DType::F32)?)?,
            dtype => return Err(Error::Untrainable { name: param.name.clone(), dtype }),
        };
        Ok(Self { name: param.name.clone(), stored, master })
    }

    /// Rounds the parameter from its master.
    fn lower(&self) -> Result<(), Error> {
        if self.stored.id() != self.master.id() {
            self.stored.set(&self.master.detach().to_dtype(self.stored.dtype())?)?;
        }
        Ok(())
    }
}

const SHAPE: &str = "its gradient has another shape than the parameter";

/// Refuses gradients without a parameter of their name, or of another shape than their parameter.
fn fit(pairs: &[Pair], grads: &SparseGrads<Tensor>) -> Result<(), Error> {
    let mut waiting: HashMap<_, _> = pairs.iter().map(|pair| (&pair.name, pair)).collect();
    let mut strangers = Vec::new();
    for (name, shape) in device::shapes(grads) {
        match (waiting.remove(name), shape) {
            (None, _) => strangers.push(name.clone()),
            (Some(pair), Some(shape)) if shape != pair.master.dims() => {
                return Err(
                    HostDeviceError::Mismatch { parameter: name.clone(), why: SHAPE }.into()
                );
            }
            (Some(_), _) => {}
        }
    }
    if strangers.is_empty() { Ok(()) } else { Err(Error::Strangers { names: strangers }) }
}

/// Returns the gradients as candle's optimizers look them up. The optimizers leave out parameters whose gradient they do not find.
///
/// An average over ranks is on the host, and is moved to its master's device.
fn for_masters(pairs: &[Pair], grads: NamedGrads<Tensor>) -> Result<GradStore, Error> {
    let masters: HashMap<_, _> = pairs.iter().map(|pair| (&pair.name, &pair.master)).collect();
    let mut store = GradStore::default();
    for Named { name, value } in grads {
        if let Some((master, grad)) = masters.get(&name).zip(value) {
            store.insert(master, grad.to_device(master.device())?);
        }
    }
    Ok(store)
}
