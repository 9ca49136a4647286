//! candle's own optimizers, given gradients that are fit to be applied.

use crate::{
    Candle, Error,
    params::{some, untied},
};
use binade_core::{Finding, Named, NamedGrads, NativeError, Optimizer};
use binade_master_weights::HostOptimizer;
use candle_core::backprop::GradStore;
use candle_core::{DType, Tensor, Var};
use candle_nn::Optimizer as CandleOptimizer;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// One of candle's optimizers: its `Var`s are in `f32`, whatever the parameters are stored in.
///
/// * A parameter in `f32` is set by the optimizer itself. One in sixteen bits gets a master in `f32`, a copy, which the optimizer
///   moves and the parameter is rounded from. candle's own over half `Var`s has moments in sixteen bits; in f16 the eps of
///   `AdamW` is 0 there, and a second moment of 0 gives NaN.
/// * A skipped step does not reach the optimizer, and gradients come unscaled and in `f32`.
/// * A parameter without a gradient stays as it is, as with candle alone; the step's report names it.
pub struct Wrapped<O> {
    pairs: Vec<Pair>,
    /// candle's, to set a learning rate by.
    pub inner: O,
}

impl<O: CandleOptimizer> Wrapped<O> {
    /// An optimizer of `params`, all of them `Var`s.
    ///
    /// # Errors
    ///
    /// candle's, where there are no parameters, where one is of no type that is trained, where one is no `Var`, and where two are the same.
    pub fn new(params: &[Named<Tensor>], config: O::Config) -> Result<Self, Error> {
        some(params)?;
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

impl<O: CandleOptimizer> Optimizer<NamedGrads<Tensor>, Finding> for Wrapped<O> {
    type Error = Error;

    fn step(&mut self, grads: NamedGrads<Tensor>, found: &Finding) -> Result<(), Error> {
        HostOptimizer::new(Candle, |grads| self.apply(grads)).step(grads, found)
    }
}

impl<O> fmt::Debug for Wrapped<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrapped").field("parameters", &self.pairs.len()).finish_non_exhaustive()
    }
}

/// A parameter and the `Var` that is moved for it.
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

const STRANGER: &str = "a gradient came for it that no parameter of the optimizer is waiting for: it has none of that name, or a gradient had come already";

/// The gradients as candle's optimizers look for them, which pass over what they do not find.
fn for_masters(pairs: &[Pair], grads: NamedGrads<Tensor>) -> Result<GradStore, Error> {
    let mut waiting: HashMap<&str, &Var> =
        pairs.iter().map(|pair| (&*pair.name, &pair.master)).collect();
    let mut store = GradStore::default();
    for Named { name: parameter, value } in grads {
        let master = waiting.remove(&*parameter);
        let master = master.ok_or(NativeError::Mismatch { parameter, why: STRANGER })?;
        value.and_then(|grad| store.insert(master, grad));
    }
    Ok(store)
}
