//! Host tensor, and device with parameters that have identities.

#[path = "../../../../tests/host/mod.rs"]
mod host;

pub(crate) use host::{Host, NoSuchType};

use binade_autocast::{Autocast, CacheKey};
use binade_core::{AmpTensor, DType, Handle};
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

impl Host {
    /// Returns a dot product: f32 inside, rounded once.
    pub(crate) fn dot(&self, other: &Self) -> Self {
        assert_eq!(self.dtype, other.dtype, "operands must agree");
        let sum = self.data.iter().zip(&other.data).map(|(a, b)| a * b).sum();
        Self::new(self.dtype, &[sum])
    }
}

/// Tensor with an identity, a version, and a gradient flag.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) host: Host,
    pub(crate) id: Option<u64>,
    pub(crate) version: u64,
    /// True if a gradient would arrive at the parameter through this tensor.
    pub(crate) grad: bool,
    _alive: Arc<()>,
}

/// First element that [`Device`] panics at.
pub(crate) const PANICS: f32 = -12345.0;

/// Device that counts casts, and the live tensors it made.
#[derive(Debug, Default)]
pub(crate) struct Device {
    casts: AtomicUsize,
    ids: AtomicU64,
    alive: Arc<()>,
}

thread_local!(static NO_GRAD: Cell<bool> = const { Cell::new(false) });

/// Runs `f` with gradients switched off, as a framework's no-grad mode does.
pub(crate) fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    NO_GRAD.set(true);
    let result = f();
    NO_GRAD.set(false);
    result
}

impl Device {
    pub(crate) fn casts(&self) -> usize {
        self.casts.load(Ordering::Relaxed)
    }

    pub(crate) fn alive(&self) -> usize {
        Arc::strong_count(&self.alive) - 1
    }

    pub(crate) fn parameter(&self, data: &[f32]) -> Param {
        let id = Some(self.ids.fetch_add(1, Ordering::Relaxed));
        Param { host: Host::f32(data), id, version: 0, grad: true, _alive: self.alive.clone() }
    }

    /// Returns a tensor without identity, as activations are.
    pub(crate) fn activation(&self, dtype: DType, data: &[f32]) -> Param {
        Param { host: Host::new(dtype, data), id: None, grad: false, ..self.parameter(&[]) }
    }
}

impl Handle for Device {
    type Tensor = Param;
    type Error = NoSuchType;
}

impl Autocast for Device {
    fn dtype(&self, tensor: &Param) -> DType {
        tensor.host.dtype
    }

    fn cast(&self, tensor: &Param, to: DType) -> Result<Param, NoSuchType> {
        self.casts.fetch_add(1, Ordering::Relaxed);
        assert_ne!(tensor.host.data.first(), Some(&PANICS));
        let grad = tensor.grad && !NO_GRAD.get();
        Ok(Param { host: tensor.host.cast(to)?, id: None, grad, ..tensor.clone() })
    }

    fn cache_key(&self, tensor: &Param) -> Option<CacheKey> {
        let grad = tensor.grad && !NO_GRAD.get();
        Some(CacheKey { id: tensor.id?, version: tensor.version, grad })
    }

    fn extents<'t>(&self, tensor: &'t Param) -> Option<Cow<'t, [usize]>> {
        Some(vec![tensor.host.data.len()].into())
    }
}
