//! Handle, and the reads that the host may ask of it.

use crate::{Error, Masters, Tensor, late::Late, queue::Queue, tensor::Like};
use binade_core::Handle;
use binade_master_weights::HostMasters;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

/// Number of jobs that may wait before the queue runs by itself.
const LIMIT: usize = 1024;

/// Device that runs late on the CPU: calls are queued, and computed when the host reads.
///
/// A clone is the same device.
///
/// # Contract
///
/// * Every operation returns before anything is computed. Shapes, element types and names are known at once, and errors in them
///   come at once, in the CPU's words; errors in values show when they are read.
/// * The bits are those of [`Cpu`](binade_cpu::Cpu), which computes the values in the order of the calls.
/// * The host reads only by `download`, [`resolve`](binade_grad_scaler::StepOutcome::resolve) and its kin, and an optimizer that
///   reads the verdict; each runs the queue and counts as one of [`reads`](Self::reads).
/// * A [`strict`](Self::strict) device refuses all of these but `resolve` outside a [`window`](Self::window).
/// * Operations may be called from any thread, rayon's workers included; read from outside them, since a read waits for work that
///   may need them.
/// * Memory stays bounded over any number of unread steps: a long queue runs by itself, which is no read.
#[derive(Clone)]
pub struct Deferred {
    inner: Arc<Inner>,
}

struct Inner {
    queue: Queue,
    strict: bool,
    windows: AtomicUsize,
    reads: AtomicU64,
}

impl Deferred {
    /// Makes a device that counts reads.
    pub fn new() -> Self {
        Self::of(false, LIMIT)
    }

    /// Makes a device that refuses reads outside a window, and counts the rest.
    pub fn strict() -> Self {
        Self::of(true, LIMIT)
    }

    /// Makes a new device of this kind, whose queue runs by itself if more than `jobs` wait.
    #[must_use]
    pub fn with_limit(&self, jobs: usize) -> Self {
        Self::of(self.inner.strict, jobs)
    }

    fn of(strict: bool, limit: usize) -> Self {
        let (windows, reads) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self { inner: Arc::new(Inner { queue: Queue::new(limit), strict, windows, reads }) }
    }

    /// Number of reads so far.
    pub fn reads(&self) -> u64 {
        self.inner.reads.load(Ordering::Relaxed)
    }

    /// Number of jobs that wait to be run.
    pub fn waiting(&self) -> usize {
        self.inner.queue.len()
    }

    /// Returns the little-endian bytes of a tensor's elements: a read, for comparisons bit by bit.
    ///
    /// # Errors
    ///
    /// The error of the value's computation; [`Error::Refused`] on a strict device outside a window.
    pub fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>, Error> {
        self.look("to_bits")?;
        Ok(tensor.value().get()?.to_bits())
    }

    /// Returns masters and moments as they are: a read, for a checkpoint.
    ///
    /// # Errors
    ///
    /// The error of an earlier step; [`Error::Refused`] on a strict device outside a window.
    pub fn host_masters(&self, masters: &Masters) -> Result<HostMasters, Error> {
        self.look("host_masters")?;
        masters.now()
    }

    /// Allows reads, on all threads, until the guard is dropped: the end of an epoch, an evaluation, a log line.
    pub fn window(&self) -> Window {
        self.inner.windows.fetch_add(1, Ordering::Relaxed);
        Window { device: self.clone() }
    }

    /// Computes all jobs that wait, without a read, as a GPU would have done by now.
    pub fn run(&self) {
        self.inner.queue.run();
    }

    /// Runs the queue for a read by `call`, which must be within a window on a strict device.
    pub(crate) fn look(&self, call: &'static str) -> Result<(), Error> {
        if self.inner.strict && self.inner.windows.load(Ordering::Relaxed) == 0 {
            return Err(Error::Refused { call });
        }
        self.resolve();
        Ok(())
    }

    /// Runs the queue for a read by the one call that is always allowed.
    pub(crate) fn resolve(&self) {
        self.inner.reads.fetch_add(1, Ordering::Relaxed);
        self.inner.queue.run();
    }

    pub(crate) fn push(&self, job: impl FnOnce() + Send + 'static) {
        self.inner.queue.push(job);
    }

    /// Queues `work`, whose error becomes that of every result.
    pub(crate) fn fill<T: Send + Sync + 'static>(
        &self,
        places: Vec<Late<T>>,
        work: impl FnOnce() -> Result<Vec<T>, Error> + Send + 'static,
    ) {
        self.push(move || match work() {
            Ok(values) => places.iter().zip(values).for_each(|(place, value)| place.set(Ok(value))),
            Err(error) => places.iter().for_each(|place| place.set(Err(error.clone()))),
        });
    }

    /// Queues `work` and returns its one result.
    pub(crate) fn one<T: Send + Sync + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Late<T> {
        let place = Late::empty();
        self.fill(vec![place.clone()], || Ok(vec![work()?]));
        place
    }

    /// Returns tensors like `likes`, which `work` makes of `inputs`.
    pub(crate) fn tensors<const N: usize>(
        &self,
        inputs: &[&Tensor],
        likes: [Like; N],
        work: impl FnOnce(&[&binade_cpu::Tensor]) -> Result<[binade_cpu::Tensor; N], binade_cpu::Error>
        + Send
        + 'static,
    ) -> [Tensor; N] {
        let outputs = likes.map(Tensor::later);
        let places = outputs.iter().map(|output| output.value().clone()).collect();
        let inputs: Vec<_> = inputs.iter().map(|input| input.value().clone()).collect();
        self.fill(places, move || {
            let inputs: Vec<_> = inputs.iter().map(Late::get).collect::<Result<_, _>>()?;
            Ok(work(&inputs)?.into())
        });
        outputs
    }

    /// Returns a tensor of this shape and type, which `work` makes of `inputs`.
    pub(crate) fn tensor(
        &self,
        inputs: &[&Tensor],
        like: Like,
        work: impl FnOnce(&[&binade_cpu::Tensor]) -> Result<binade_cpu::Tensor, binade_cpu::Error>
        + Send
        + 'static,
    ) -> Tensor {
        let [output] = self.tensors(inputs, [like], |inputs| Ok([work(inputs)?]));
        output
    }
}

impl Default for Deferred {
    fn default() -> Self {
        Self::new()
    }
}

impl Handle for Deferred {
    type Tensor = Tensor;
    type Error = Error;
}

impl fmt::Debug for Deferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deferred")
            .field("strict", &self.inner.strict)
            .field("reads", &self.reads())
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}

/// Guard of a window, in which reads are allowed while it lives.
#[must_use = "the window closes when the guard is dropped"]
#[derive(Debug)]
pub struct Window {
    device: Deferred,
}

impl Drop for Window {
    fn drop(&mut self) {
        self.device.inner.windows.fetch_sub(1, Ordering::Relaxed);
    }
}
