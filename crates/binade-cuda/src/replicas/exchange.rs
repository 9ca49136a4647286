//! What goes between devices: copies in the streams of those who take, ordered by events. The host waits for nothing.

use super::Replicas;
use crate::{Cuda, Error, Uncapturable, launch, memory::Buffer};
use cudarc::driver::CudaEvent;
use std::ops::Range;

/// A moment in each device's stream.
pub(super) struct Moments(Vec<CudaEvent>);

impl Replicas {
    /// How far each device's stream has come.
    pub(super) fn moments(&self) -> Result<Moments, Error> {
        let moment = |_, cuda: &Cuda| cuda.check("event", cuda.stream().record_event(None));
        Ok(Moments(self.each(moment)?.into_inner()))
    }

    /// From here on each device's work is behind what all had put in their streams at those moments.
    pub(super) fn wait(&self, moments: &Moments) -> Result<(), Error> {
        let wait = |place, cuda: &Cuda| {
            let others = moments.0.iter().enumerate().filter(|(other, _)| *other != place);
            others.map(|(_, event)| event).try_for_each(|event| {
                cuda.check("wait for another device", cuda.stream().wait(event))
            })
        };
        self.each(wait).map(drop)
    }

    /// Refuses what a capture of one device does not follow.
    pub(super) fn refuse_capture(&self, operation: &'static str) -> Result<(), Error> {
        let runs = |cuda: &Cuda| cuda.inner.pool.recorder.running().is_some();
        if self.devices().iter().any(runs) {
            return Err(Error::Capture { operation, why: Uncapturable::Replicas });
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
    here.has_made(to)?;
    there.has_made(from)?;
    let sent = launch::send_peer(here.stream(), (to, at), (from, there.stream(), bytes));
    here.check("copy from another device", sent)
}
