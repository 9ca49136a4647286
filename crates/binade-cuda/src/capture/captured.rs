//! Captured steps, which can be replayed any number of times.

use super::{
    arena::{ArenaLease, GraphRegistration},
    error::CaptureError,
    run::Replay,
};
use crate::{
    Cuda, CudaError, Error, launch,
    memory::{Copies, Pinned, ReplayCopy},
};
use binade_gpu::lock;
use cudarc::driver::{CudaGraph, CudaStream};
use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};

/// Captured step: one launch for all of it, as often as [`replay`](Self::replay) is called.
///
/// It stays on the thread that captured it. Dropping it destroys its graph and returns its memory to the handle; replays under
/// way still end as they should.
///
/// # Contract
///
/// * A replay does what the uncaptured step would do with the contents of its fixed tensors at that time, bit for bit. Values from the host are those
///   of the capture: see [`Cuda::capture`].
/// * The step's memory is reserved until this value is dropped. If the step's own side drops or replaces it, as `Scaler::set_state` and loading a
///   checkpoint do, the next replay is [`CaptureError::Stale`]. If someone else holds a clone and an ordinary operation would move it to another
///   address, that operation is [`CaptureError::Moved`].
/// * A configuration whose steps need other kernels, as another rule or a norm to clip by does, ends the replays as well.
/// * A clone of a parameter or of a scale keeps its values, as it does with ordinary steps: a replay that would change it is
///   [`CaptureError::Held`]. Outcomes of replays hold no such clone, and writes by [`Cuda::write`] are meant to be seen. A clone
///   that another thread makes while `replay` is called may be one that the replay changes.
pub struct Captured<R> {
    // Fields drop in this order: the graph, then the memory that it works on.
    pub(super) graph: CudaGraph,
    pub(super) registered: GraphRegistration,
    pub(super) result: R,
    pub(super) replay: Replay,
    pub(super) _room: ArenaLease,
    pub(super) operations: usize,
    pub(super) cuda: Cuda,
}

impl<R> Captured<R> {
    /// Returns the number of kernels, copies and fills in one replay.
    pub fn operations(&self) -> usize {
        self.operations
    }

    fn may_replay(&self) -> Result<(), Error> {
        self.cuda.check_alive()?;
        self.cuda.inner.pool.state.refuse("replay", CaptureError::Nested)?;
        let is_gone = self.replay.alive.iter().any(|alive| alive.strong_count() == 0);
        if is_gone || !lock(&self.registered.uses.kept).is_empty() {
            return Err(CaptureError::Stale.of("replay"));
        }
        if self.replay.sole.iter().any(|it| it.strong_count() > 1) {
            return Err(CaptureError::Held.of("replay"));
        }
        Ok(())
    }

    /// Allocates the targets of the copies. It comes before the launch, so that a failure leaves the step undone.
    fn pinned(&self) -> Result<Vec<Pinned>, Error> {
        let ring = &self.cuda.inner.reports;
        let reported = self.cuda.inner.faults.reported();
        let target = |later: &Arc<ReplayCopy>| {
            let mut pinned = self.cuda.pinned(ring, later.from.bytes())?;
            pinned.reported = reported;
            Ok(pinned)
        };
        self.replay.later.iter().map(target).collect()
    }

    fn launch(&self, stream: &CudaStream) -> Result<(), Error> {
        self.cuda.number_replay(stream, self.replay.indexed, || {
            self.cuda.check("replay", self.graph.launch())
        })?;
        self.cuda.inner.counters.replays.add(1);
        for count in &self.replay.counts {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Starts the copies of a step that is in the stream. If it fails, the step has already run.
    fn send(&self, stream: &CudaStream, pinned: Vec<Pinned>) -> Result<Copies, Error> {
        let copy = |(later, mut pinned): (&Arc<ReplayCopy>, Pinned)| {
            self.cuda.check("report", launch::send_from(stream, &later.from, &mut pinned))?;
            if later.is_report {
                self.cuda.inner.counters.reports.add(1);
            }
            Ok(Arc::new(pinned))
        };
        self.replay.later.iter().zip(pinned).map(copy).collect::<Result<Copies, Error>>().map_err(
            |error| match error {
                Error::Driver(CudaError::Lost { .. }) => error,
                other => Error::Driver(CudaError::Unreported { cause: other.to_string() }),
            },
        )
    }
}

impl<R: Clone> Captured<R> {
    /// Enqueues the step again, and copies of its reports after it, without waiting. Before a step that checks indices it also fills one word, which
    /// orders bad indices.
    ///
    /// The result is a clone of the captured run's. An outcome is this replay's own, whenever it is resolved and however many are
    /// under way. A tensor is memory that the next replay writes again.
    ///
    /// # Errors
    ///
    /// [`CudaError::Capture`] if memory of the step was dropped, or a clone of it would change; and if the device fails. After an error the step has
    /// not been done, but for [`CudaError::Unreported`]: it has, and is counted, and its outcome is lost.
    pub fn replay(&self) -> Result<R, Error> {
        self.may_replay()?;
        let pinned = self.pinned()?;
        // All of it is one turn: a capture that began in between would record the copies.
        self.cuda.with_stream("replay", |stream| {
            self.may_replay()?;
            self.launch(stream)?;
            let sent = self.send(stream, pinned);
            *lock(&self.replay.latest.sent) = sent.as_ref().ok().cloned();
            sent
        })??;
        Ok(self.result.clone())
    }
}

impl<R> fmt::Debug for Captured<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Captured({} operations, cuda)", self.operations)
    }
}
