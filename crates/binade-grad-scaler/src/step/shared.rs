//! State shared by a `Scaler` and every value derived from it: device, unit scale, reduction hook, iterations.

use super::iterations::Iterations;
use crate::{GradScaler, Pass};
use binade_core::{GradSet, Handle};
use std::sync::Arc;

pub(crate) type Reduce<D> =
    dyn Fn(&mut <D as GradSet>::Found, Pass) -> Result<(), <D as Handle>::Error> + Send + Sync;

pub(crate) struct Shared<D: GradScaler> {
    pub(crate) device: D,
    /// A scale of 1, for gradients that no loss scaled.
    pub(crate) one: D::Scale,
    pub(crate) reduce: Option<Box<Reduce<D>>>,
    /// Held by each pending step, which holds nothing else of this.
    pub(crate) iterations: Arc<Iterations>,
}

impl<D: GradScaler> Shared<D> {
    pub(crate) fn new(device: D, one: D::Scale, reduce: Option<Box<Reduce<D>>>) -> Self {
        Self { device, one, reduce, iterations: Arc::new(Iterations::new()) }
    }

    /// Returns a state apart from the scaler's, for an outcome that does not count as under way.
    pub(crate) fn apart(&self) -> Self
    where
        D: Clone,
    {
        Self::new(self.device.clone(), self.one.clone(), None)
    }

    /// An error if a step was dropped before its update, once.
    pub(crate) fn check_dropped(&self) -> Result<(), D::Error> {
        let dropped = self.iterations.take_dropped();
        dropped.map_or(Ok(()), |error| Err(self.device.train_error(error.into())))
    }

    /// One pass over `grads`, and what all ranks together found in it.
    pub(crate) fn inspect(
        &self,
        grads: &mut D::Grads,
        scale: &D::Scale,
    ) -> Result<D::Found, D::Error> {
        let mut found = self.device.unscale(grads, scale)?;
        self.reduce(&mut found, Pass::Gradients)?;
        Ok(found)
    }

    /// Makes what this rank found what all ranks found. Every finding that a step or an update depends on goes through here,
    /// or is joined of findings that did.
    pub(crate) fn reduce(&self, found: &mut D::Found, pass: Pass) -> Result<(), D::Error> {
        self.reduce.as_ref().map_or(Ok(()), |reduce| reduce(found, pass))
    }
}
