//! The handle of a rank.

use super::{Communicator, meeting::DifferenceBits, model::Model};
use crate::{Cuda, Error, memory::Buffer};
use binade_core::Handle;
use binade_gpu::lock;
use std::{
    collections::BTreeMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard},
};

/// A CUDA device as one of several ranks, which train one model data-parallel. Each rank is a process or thread with its own device. A clone is the
/// same rank.
///
/// # Contract
///
/// * Every rank makes the same calls in the same order: it scales, unscales, clips, accumulates, steps and updates where the others do. A step
///   captured on one rank is captured on all, and replayed as often.
/// * `masters`, and so `initialize`, gives every rank the parameters of rank 0 before they are lowered.
/// * `unscale` checks each rank's own scaled gradients, joins the found-inf results in the order of ranks, and gives every rank the average. An
///   overflow on any rank skips the step on all; the gradients are sent anyway, since a graph cannot branch.
/// * The average is the `f64` sum in the order of ranks, divided by their number and rounded once to `f32`. Gradients travel in their own
///   type.
/// * In a step the host reads nothing and waits for nothing, unless `unscale` gets a gradient that no rank has had before, usually in the first step.
/// * A gradient that some ranks lack counts as zero there; the report lists it as missing. A gradient that all ranks lack is missing. If one rank has
///   a gradient that no rank has had before, each other rank must in that step have such a gradient too, or none at all.
/// * Ranks that differ in the call, the loss scale, the limits of clips, the rule of the scale or the model get
///   [`CudaError::Desync`](crate::CudaError::Desync) on every rank: from `resolve`, which finds the step halted, or from the call itself if the host
///   reads in it. The optimizer's configuration is compared by `masters` and `join`, and a checkpoint by `load`. The next `unscale` reports
///   differences in other calls.
/// * If a rank does not make a call, or fails, the others get an error once the communicator knows or the timeout ends. After an error of the
///   communicator or between ranks, each call returns that error.
/// * With NCCL a step is captured on the rank's own device, by [`Cuda::capture`]: its warm-ups make NCCL's connections. With peers a step cannot be
///   captured: [`CaptureError::Peers`](crate::CaptureError::Peers).
#[derive(Clone)]
pub struct CudaRank {
    inner: Arc<Inner>,
}

struct Inner {
    communicator: Communicator,
    /// Number of meetings so far, on the device, since a captured step counts there.
    meetings: Buffer,
    /// First difference between ranks, as [`DifferenceBits`].
    difference: Buffer,
    /// Hash of the settings since the last collective call, which must be equal on all ranks.
    settings: Mutex<u64>,
    /// Models that all ranks have, by the hash of their parameters' names, the last used one last.
    models: Mutex<BTreeMap<u64, Vec<Arc<Model>>>>,
}

impl CudaRank {
    /// Makes the communicator's device a rank that trains.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn new(communicator: Communicator) -> Result<Self, Error> {
        let zeros = |bytes| communicator.cuda().lasting_of(&vec![0; bytes]);
        let (meetings, difference) = (zeros(8)?, zeros(size_of::<DifferenceBits>())?);
        let (settings, models) = (Mutex::default(), Mutex::default());
        Ok(Self { inner: Arc::new(Inner { communicator, meetings, difference, settings, models }) })
    }

    /// Returns the rank's device, which can capture a step.
    pub fn cuda(&self) -> &Cuda {
        self.inner.communicator.cuda()
    }

    /// Returns the communicator.
    pub fn communicator(&self) -> &Communicator {
        &self.inner.communicator
    }

    pub(super) fn meetings(&self) -> &Buffer {
        &self.inner.meetings
    }

    pub(super) fn difference(&self) -> &Buffer {
        &self.inner.difference
    }

    /// Makes a call of the device, without communication between ranks.
    pub(super) fn alone<T>(
        &self,
        call: impl FnOnce(&Cuda) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.communicator().check()?;
        call(self.cuda())
    }

    /// Makes a call of an operation, as `forward_ops!` hands it on.
    pub(super) fn forward<T>(
        &self,
        _name: &'static str,
        call: impl FnOnce(&Cuda) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.alone(call)
    }

    /// Adds a setting that must be equal on all ranks; the next collective call compares it.
    pub(super) fn settles(&self, setting: impl fmt::Debug) {
        let mut settings = lock(&self.inner.settings);
        *settings = hash(&(*settings, format!("{setting:?}")));
    }

    /// Returns the hash of the settings since the last collective call, and resets it.
    pub(super) fn settled(&self) -> u64 {
        std::mem::take(&mut *lock(&self.inner.settings))
    }

    /// Returns the models that all ranks are known to have, by the hash of their parameters' names.
    pub(super) fn models(&self) -> MutexGuard<'_, BTreeMap<u64, Vec<Arc<Model>>>> {
        lock(&self.inner.models)
    }
}

/// Returns a hash that is the same in every process of one build.
pub(super) fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl Handle for CudaRank {
    type Tensor = crate::Tensor;
    type Error = Error;
}

impl fmt::Debug for CudaRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CudaRank").field(self.communicator()).finish()
    }
}
