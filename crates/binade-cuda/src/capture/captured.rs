//! A step that runs again as often as asked.

use super::{
    arena::Room,
    later::{Copies, Later, Latest},
    run::Run,
    uses::Registered,
    why::Uncapturable,
};
use crate::{
    Cuda, CudaError, Error, launch,
    memory::{Buffer, Pinned},
};
use cudarc::driver::{CudaGraph, CudaStream};
use std::{
    any::Any,
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

/// A captured step: one launch for all of it, as often as [`replay`](Self::replay) is called.
///
/// It stays on the thread that captured it. When it is dropped, its graph goes, and its memory is the handle's again; replays
/// that are under way end as they should.
///
/// # Contract
///
/// * A replay does what the uncaptured step would do with what its fixed tensors hold then, bit for bit. What the host gave
///   the step by value is what it was: see [`Cuda::capture`].
/// * What the step works on is kept from others for as long as this lives. Where the step's own side drops or replaces it, as
///   `Scaler::set_state` and loading a checkpoint do, the next replay is [`Uncapturable::Stale`]; where someone else holds a
///   clone and an ordinary operation would move it to another address, that operation is [`Uncapturable::Moved`].
/// * What a clone of a parameter or of a scale reads stays, as it does with ordinary steps: a replay that would change it is
///   [`Uncapturable::Held`]. Outcomes of replays hold no such clone, and what [`Cuda::write`] writes is meant to be seen. A
///   clone that another thread makes while `replay` is called may be one that the replay changes.
pub struct Captured<R> {
    // Dropped in this order: the graph, then what it works on.
    graph: CudaGraph,
    registered: Registered,
    result: R,
    later: Vec<Arc<Later>>,
    latest: Arc<Latest>,
    /// Launches that look at indices.
    indexed: u32,
    counts: Vec<Arc<AtomicU64>>,
    alive: Vec<Weak<()>>,
    sole: Vec<Weak<dyn Any + Send + Sync>>,
    _held: Vec<Arc<Buffer>>,
    _room: Room,
    operations: usize,
    cuda: Cuda,
}

impl<R> Captured<R> {
    pub(super) fn new(
        cuda: Cuda,
        graph: CudaGraph,
        (run, registered): (Run, Registered),
        result: R,
        room: Room,
    ) -> Self {
        let Run { later, latest, indexed, counts, alive, sole, held, done, .. } = run;
        let operations = done.operations.len();
        Self {
            graph,
            registered,
            result,
            later,
            latest,
            indexed,
            counts,
            alive,
            sole,
            _held: held,
            _room: room,
            operations,
            cuda,
        }
    }

    /// How many kernels, copies and fills one replay runs.
    pub fn operations(&self) -> usize {
        self.operations
    }

    fn may_replay(&self) -> Result<(), Error> {
        self.cuda.alive()?;
        self.cuda.inner.pool.state.refuse("replay", Uncapturable::Nested)?;
        let is_gone = self.alive.iter().any(|alive| alive.strong_count() == 0);
        if is_gone || self.registered.uses.is_stale() {
            return Err(Error::Driver(CudaError::Capture {
                operation: "replay",
                why: Uncapturable::Stale,
            }));
        }
        if self.sole.iter().any(|it| it.strong_count() > 1) {
            return Err(Error::Driver(CudaError::Capture {
                operation: "replay",
                why: Uncapturable::Held,
            }));
        }
        Ok(())
    }

    /// Where the copies will go. What can be refused is asked for before the step is done.
    fn pinned(&self) -> Result<Vec<Pinned>, Error> {
        let ring = &self.cuda.inner.reports;
        let reported = self.cuda.inner.faults.reported();
        let one = |later: &Arc<Later>| {
            let mut pinned = self.cuda.pinned(ring, later.from.bytes())?;
            pinned.reported = reported;
            Ok(pinned)
        };
        self.later.iter().map(one).collect()
    }

    fn launch(&self, stream: &CudaStream) -> Result<(), Error> {
        self.cuda.number_replay(stream, self.indexed, || {
            self.cuda.check("replay", self.graph.launch())
        })?;
        self.cuda.inner.counters.replay();
        for count in &self.counts {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Starts the copies of a step that is done, or says that it is.
    fn send(&self, stream: &CudaStream, pinned: Vec<Pinned>) -> Result<Copies, Error> {
        let one = |(later, mut pinned): (&Arc<Later>, Pinned)| {
            self.cuda.check("report", launch::send_from(stream, &later.from, &mut pinned))?;
            if later.is_report {
                self.cuda.inner.counters.report();
            }
            Ok(Arc::new(pinned))
        };
        self.later.iter().zip(pinned).map(one).collect::<Result<Copies, Error>>().map_err(|error| {
            match error {
                Error::Driver(CudaError::Lost { .. }) => error,
                other => Error::Driver(CudaError::Unreported { cause: other.to_string() }),
            }
        })
    }
}

impl<R: Clone> Captured<R> {
    /// Puts the step in the stream once more, and copies of its reports behind it; waits for nothing. In front of a step that
    /// looks at indices it fills one word, for the order of bad ones.
    ///
    /// What it gives is a clone of what the captured run gave. An outcome is this replay's own, whenever it is resolved and
    /// however many are under way; a tensor is memory that the next replay writes to again.
    ///
    /// # Errors
    ///
    /// [`CudaError::Capture`] where what the step works on is gone, or a clone of it would change; and when the device fails. After
    /// an error the step has not been done, but for [`CudaError::Unreported`]: it has, and is counted, and its outcome is lost.
    pub fn replay(&self) -> Result<R, Error> {
        self.may_replay()?;
        let pinned = self.pinned()?;
        // One turn for all of it: a capture that began in between would have the copies.
        self.cuda.in_turn("replay", |stream| {
            self.may_replay()?;
            self.launch(stream)?;
            let sent = self.send(stream, pinned);
            self.latest.set(sent.as_ref().ok().cloned());
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
