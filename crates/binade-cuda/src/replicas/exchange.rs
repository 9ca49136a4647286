//! Copies between devices, in the stream of the receiving device, ordered by events. The host does not wait.

use super::{Parts, Replicas};
use crate::{CaptureError, Cuda, Error, launch, memory::Buffer};
use binade_gpu::Driver;
use cudarc::driver::{CudaEvent, CudaStream};
use std::{ops::Range, sync::Arc};

impl Replicas {
    /// Records an event in each device's stream.
    pub(super) fn moments(&self) -> Result<Parts<CudaEvent>, Error> {
        let moment = |_, cuda: &Cuda| {
            cuda.outside("event", CaptureError::Replicas, |stream| stream.record_event(None))
        };
        self.each(moment)
    }

    /// From here on each device's work is behind what all had put in their streams at those moments.
    pub(super) fn wait(&self, moments: &Parts<CudaEvent>) -> Result<(), Error> {
        let wait = |place, cuda: &Cuda| {
            let others = moments.0.iter().enumerate().filter(|(other, _)| *other != place);
            let wait = |stream: &Arc<CudaStream>| {
                others.map(|(_, event)| event).try_for_each(|event| {
                    cuda.inner.counters.meetings.add(1);
                    stream.wait(event)
                })
            };
            cuda.outside("wait for another device", CaptureError::Replicas, wait)
        };
        self.each(wait).map(drop)
    }

    /// Refuses what a capture of one device does not follow, before any of it is done. A capture that another thread begins in the
    /// middle is met by what goes between devices.
    pub(super) fn refuse_capture(&self, operation: &'static str) -> Result<(), Error> {
        let runs = |cuda: &Cuda| cuda.inner.pool.state.running().is_some();
        if self.devices().iter().any(runs) {
            return Err(CaptureError::Replicas.of(operation));
        }
        Ok(())
    }
}

/// Puts a copy of these bytes of `from`, made by `there`, into `here`'s stream: to `at` bytes into `to`.
pub(super) fn bring(
    here: &Cuda,
    (to, at): (&Buffer, usize),
    there: &Cuda,
    from: &Buffer,
    bytes: Range<usize>,
) -> Result<(), Error> {
    here.check_owner(to)?;
    there.check_owner(from)?;
    let send = |stream: &Arc<CudaStream>| {
        launch::send_peer(stream, (to, at), (from, there.stream(), bytes))
    };
    here.outside("copy from another device", CaptureError::Replicas, send)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::replicas;

    /// The capture begins at any time, so an earlier look at the streams proves nothing.
    #[test]
    fn nothing_between_devices_gets_into_a_capture_of_another_thread() -> Result<(), Error> {
        let Some(replicas) = replicas() else { return Ok(()) };
        let [here, there] = replicas.devices() else { panic!("{replicas:?}") };
        let moments = replicas.moments()?;
        let (to, from) = (here.zeros(64)?, there.zeros(64)?);
        let between = || {
            [
                replicas.moments().map(drop),
                replicas.wait(&moments),
                bring(here, (&to, 0), there, &from, 0..64),
            ]
        };
        assert_eq!(between(), [Ok(()), Ok(()), Ok(())]);
        let ((), capture) = here.capture().warm_up(|| Ok::<_, Error>(()))?;
        let ((), capture) = capture.warm_up(|| Ok::<_, Error>(()))?;
        let mut refused = None;
        let elsewhere = || std::thread::scope(|scope| scope.spawn(between).join().ok());
        capture.capture(|| {
            refused = elsewhere();
            Ok::<_, Error>(())
        })?;
        let names = ["event", "wait for another device", "copy from another device"];
        let why = CaptureError::Thread;
        let errors = names.map(|operation| Err(why.clone().of(operation)));
        assert_eq!(refused, Some(errors));
        assert_eq!(between(), [Ok(()), Ok(()), Ok(())]);
        Ok(())
    }
}
