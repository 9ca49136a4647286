//! What gradients need after they have left the scaler.

use crate::{GradScaler, Pass, ScaleStore};
use binade_core::Handle;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

pub(crate) type Reduce<D> =
    dyn Fn(&mut <D as ScaleStore>::Found, Pass) -> Result<(), <D as Handle>::Error> + Send + Sync;

/// Tells scalers apart.
pub(crate) type ScalerId = u64;

pub(crate) struct Shared<D: GradScaler> {
    /// Of the scaler that all of this has come from.
    pub(crate) id: ScalerId,
    pub(crate) device: D,
    /// A scale of 1, for gradients that no loss scaled.
    pub(crate) one: D::Scale,
    pub(crate) reduce: Option<Box<Reduce<D>>>,
    /// Held by each pending step, which holds nothing else of this.
    pub(crate) pending: Arc<()>,
}

impl<D: GradScaler> Shared<D> {
    pub(crate) fn new(device: D, one: D::Scale, reduce: Option<Box<Reduce<D>>>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, device, one, reduce, pending: Arc::default() }
    }

    /// The same scaler's, for what does not count as under way and inspects nothing.
    pub(crate) fn apart(&self) -> Self
    where
        D: Clone,
    {
        let (device, one) = (self.device.clone(), self.one.clone());
        Self { id: self.id, device, one, reduce: None, pending: Arc::default() }
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
