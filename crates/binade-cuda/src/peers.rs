//! Exchange between devices of one process: copies in the stream of the device that receives, ordered by events. The host does not wait.

use crate::{
    CaptureError, Cuda, CudaError, Error, Found, Gradients, Tensor,
    kernels::JOIN_SIZES,
    launch::{self, Grid, args},
    memory::Buffer,
};
use binade_core::Names;
use binade_gpu::{Driver, Kernels, OwedBits};
use binade_grad_scaler::{Norm, PeerDevice};
use std::{mem, ops::Range, sync::Arc};

impl Cuda {
    /// Opens the devices with these numbers, each with its own stream, to train one model: they share parameter names. A number that comes twice is
    /// two handles of one device.
    ///
    /// # Errors
    ///
    /// As [`Cuda::open`].
    pub fn open_peers(ordinals: &[usize]) -> Result<Vec<Self>, Error> {
        let names: Arc<Names> = Arc::default();
        let open = |ordinal: &usize| Self::naming(Self::stream_of(*ordinal)?, names.clone());
        ordinals.iter().map(open).collect()
    }

    /// Puts a copy of these bytes of `from`, made by `there`, into this device's stream: to `at` bytes into `to`. Later work of either device runs
    /// after the copy. `owner` keeps `from` alive.
    fn bring(
        &self,
        (to, at): (&Buffer, usize),
        there: &Self,
        (from, bytes): (&Buffer, Range<usize>),
        owner: &impl Clone,
    ) -> Result<(), Error> {
        self.check_owner(to)?;
        there.check_owner(from)?;
        if bytes.is_empty() {
            return Ok(());
        }
        assert!(bytes.end <= from.bytes(), "{bytes:?} of {from:?}");
        assert!(at + bytes.len() <= to.bytes(), "{bytes:?} at {at} of {to:?}");
        let (place, source) = (to.address() + at as u64, from.address() + bytes.start as u64);
        // Refused in warm-ups too, before any of it is done.
        if [self, there].into_iter().any(|cuda| cuda.inner.pool.state.running().is_some()) {
            return Err(CaptureError::Peers.of("copy from another device"));
        }
        there.meet(self)?;
        self.outside("copy from another device", CaptureError::Peers, |stream| {
            launch::copy_from_peer((stream, place), (there.stream(), source), bytes.len())
        })?;
        let met = self.meet(there);
        if met.is_err() {
            // The end of the copy is unknown, so its memory is never used again.
            mem::forget(owner.clone());
        }
        met
    }

    /// Later work of `later` runs after the work that this device's stream has now. The work of a single device is already ordered.
    fn meet(&self, later: &Self) -> Result<(), Error> {
        if Arc::ptr_eq(&self.inner, &later.inner) {
            return Ok(());
        }
        let record = |stream: &Arc<_>| cudarc::driver::CudaStream::record_event(stream, None);
        let event = self.outside("event", CaptureError::Peers, record)?;
        later.inner.counters.meetings.add(1);
        let why = CaptureError::Peers;
        later.outside("wait for another device", why, |stream| stream.wait(&event))
    }
}

impl PeerDevice for Cuda {
    fn copy_from(&self, tensor: &Tensor, from: &Self) -> Result<Tensor, Error> {
        let copy = self.unset(tensor.dtype(), tensor.shape())?;
        let source = (tensor.buffer(), tensor.range());
        self.bring((copy.buffer(), 0), from, source, tensor)?;
        Ok(copy)
    }

    fn found_from(&self, found: &Found, from: &Self) -> Result<Found, Error> {
        if !Arc::ptr_eq(&self.inner.names, &from.inner.names) {
            return Err(Error::Driver(CudaError::OtherNames));
        }
        let bytes = found.bits.bytes();
        let copy = self.buffer(bytes)?;
        self.bring((&copy, 0), from, (&found.bits, 0..bytes), &found.bits)?;
        Ok(found.on_peer(Arc::new(copy)))
    }

    fn has_gradients(&self, grads: &Gradients) -> bool {
        grads.present().next().is_some()
    }

    /// Each device has all norms, and computes the factor itself.
    fn clip_norms(
        devices: &[Self],
        grads: &mut [Gradients],
        (norm, max): (Norm, f32),
        verdicts: &mut [Found],
    ) -> Result<(), Error> {
        // Not `max <= 0.0`, which would let a NaN pass.
        if !matches!(max.partial_cmp(&0.0), Some(std::cmp::Ordering::Greater)) {
            return Err(Error::Limit { what: "clip_norm", value: max });
        }
        for (device, set) in devices.iter().zip(&mut *grads) {
            set.measure(device)?;
        }
        let mut gathered = Vec::new();
        for here in devices {
            let all = here.buffer(size_of::<OwedBits>() * devices.len())?;
            for (place, (there, set)) in devices.iter().zip(&*grads).enumerate() {
                let from = set.owed.as_ref().map_or_else(|| there.unit_factors(), Ok)?;
                let to = (&all, place * size_of::<OwedBits>());
                here.bring(to, there, (from, 0..size_of::<OwedBits>()), from)?;
            }
            gathered.push(all);
        }
        let sets = grads.iter_mut().zip(verdicts).zip(gathered);
        for (here, ((set, verdict), all)) in devices.iter().zip(sets) {
            let owed = set.measure(here)?;
            let count = u32::try_from(devices.len()).unwrap_or(u32::MAX);
            here.launch(JOIN_SIZES, Grid::one(1), &args![&all, count, owed])?;
            here.run_clip(verdict.own(here)?, owed, norm, max)?;
            // A second clip measures the gradients that the first has clipped.
            set.is_measured = false;
        }
        Ok(())
    }
}
