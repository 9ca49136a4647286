//! The handle of several devices.

use super::Parts;
use crate::{Cuda, CudaError, Error, Tensor};
use binade_core::{Error as _, ErrorKind, Handle, Names};
use binade_gpu::Driver;
use cudarc::driver::CudaStream;
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

/// Several CUDA devices as one, each with a replica of the model: a [`Scaler`](binade_grad_scaler::Scaler) and a
/// [`MasterOptimizer`](binade_master_weights::MasterOptimizer) of it train on all. A clone is the same devices.
///
/// # Contract
///
/// * Each call runs on each device, on its own part. A tensor of [`upload`](binade_core::ops::Upload::upload) is the same on all;
///   [`shard`](Self::shard) gives each its own rows of a batch.
/// * `unscale` looks at each device's own gradients, as they were made, and then gives all devices their average: the sum in `f64` in
///   the order of the devices, divided by their number, rounded once to `f32`. No sixteen bits are added, so that nothing
///   overflows on the way, and the average has the same bits on every device, whatever arrives first.
/// * What the devices found is joined among them in the same order, and the host reads nothing: an overflow on any skips the step on
///   all, is one overflow to the scale, and is told of the first device that had it. Counts are summed.
/// * A gradient that some devices lack counts as zero there; the report lists it as missing. One that all lack is missing.
/// * So parameters, masters, moments and scales keep the same bits on every device. Where one device fails in the middle of what the
///   others have done, or a report shows that scales differ, every later call is [`CudaError::Apart`].
/// * Nothing waits but what waits on one device; a report is waited for on each, since each may tell of a bad index. Saving and
///   exporting read the first device, loading writes to all.
/// * Devices copy from each other by `cuMemcpyPeerAsync`, between streams that wait for each other by events. The driver
///   chooses the way: without peer access by way of the host, which is slower and as right.
/// * A step over several devices is not captured: [`CudaError::Capture`].
#[derive(Clone)]
pub struct Replicas {
    inner: Arc<Inner>,
}

struct Inner {
    devices: Vec<Cuda>,
    /// The error by which the devices came to differ, if any.
    divergence: OnceLock<Error>,
}

impl Replicas {
    /// Opens the devices with these numbers, each with a stream of its own. A number that comes twice is two replicas on one
    /// device.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoReplicas`] without a number; as [`Cuda::open`].
    pub fn open(ordinals: &[usize]) -> Result<Self, Error> {
        let streams = ordinals.iter().map(|ordinal| Cuda::stream_of(*ordinal));
        Self::on(streams.collect::<Result<_, _>>()?)
    }

    /// Works in these streams, a replica in each; a framework may be using them too.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoReplicas`] without a stream; as [`Cuda::on`].
    pub fn on(streams: Vec<Arc<CudaStream>>) -> Result<Self, Error> {
        if streams.is_empty() {
            return Err(Error::Driver(CudaError::NoReplicas));
        }
        // A parameter has one number on all devices, so that what one finds another can name.
        let names: Arc<Names> = Arc::default();
        let devices = streams.into_iter().map(|stream| Cuda::naming(stream, names.clone()));
        let devices = devices.collect::<Result<_, _>>()?;
        Ok(Self { inner: Arc::new(Inner { devices, divergence: OnceLock::new() }) })
    }

    /// The devices, each a handle that may be used by itself, on parts of its own.
    pub fn devices(&self) -> &[Cuda] {
        &self.inner.devices
    }

    /// A tensor of one part for each device.
    ///
    /// # Errors
    ///
    /// [`CudaError::Parts`] where they are not as many, [`Error::Foreign`] where another handle has made one.
    pub fn tensor(&self, parts: Vec<Tensor>) -> Result<Parts<Tensor>, Error> {
        let devices = self.devices().len();
        if parts.len() != devices {
            return Err(Error::Driver(CudaError::Parts { found: parts.len(), devices }));
        }
        let parts = Parts(parts);
        self.each(|place, cuda| cuda.check_owner(parts.on(place)?.buffer()))?;
        Ok(parts)
    }

    /// Waits until all that was asked for is done, on every device.
    ///
    /// # Errors
    ///
    /// The first error since the host last waited for a device.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.each(|_, cuda| cuda.synchronize()).map(drop)
    }

    /// Calls `work` for each device and returns the results, in the devices' order.
    pub(super) fn each<T>(
        &self,
        mut work: impl FnMut(usize, &Cuda) -> Result<T, Error>,
    ) -> Result<Parts<T>, Error> {
        self.together()?;
        let mut done = Vec::new();
        for (place, cuda) in self.devices().iter().enumerate() {
            done.push(work(place, cuda).map_err(|error| self.on_replica(place, error))?);
        }
        Ok(Parts(done))
    }

    /// Calls every device in turn, with a call that changes it. A failure after the first device ends the replicas, since some devices have
    /// changed and others have not. A refusal of the first device has changed nothing, and is returned.
    pub(super) fn change<T>(
        &self,
        mut work: impl FnMut(usize, &Cuda) -> Result<T, Error>,
    ) -> Result<Parts<T>, Error> {
        let mut reached = 0;
        let outcome = self.each(|place, cuda| {
            reached = place;
            work(place, cuda)
        });
        if let (Err(error), 1..) = (&outcome, reached) {
            self.come_apart(&error.to_string());
        }
        outcome
    }

    /// Records that the devices differ; from here on every call fails. Returns the error.
    pub(super) fn come_apart(&self, cause: &str) -> Error {
        self.inner
            .divergence
            .get_or_init(|| Error::Driver(CudaError::Apart { cause: cause.to_owned() }))
            .clone()
    }

    /// Refuses to go on with replicas that are not alike.
    pub(super) fn together(&self) -> Result<(), Error> {
        self.inner.divergence.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Adds the device to an error of the device itself; errors by wrong arguments stay as they are.
    pub(super) fn on_replica(&self, place: usize, error: Error) -> Error {
        let is_its_own = matches!(
            error.kind(),
            ErrorKind::DeviceLost | ErrorKind::OutOfMemory | ErrorKind::Other
        );
        let is_named =
            matches!(error, Error::Driver(CudaError::OnReplica { .. } | CudaError::Apart { .. }));
        match self.devices().get(place) {
            Some(cuda) if is_its_own && !is_named => {
                let ordinal = cuda.stream().context().ordinal();
                Error::Driver(CudaError::OnReplica { place, ordinal, cause: Box::new(error) })
            }
            _ => error,
        }
    }
}

impl Handle for Replicas {
    type Tensor = Parts<Tensor>;
    type Error = Error;
}

impl fmt::Debug for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Replicas").field(&self.devices()).finish()
    }
}
