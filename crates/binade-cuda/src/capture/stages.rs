//! Stages of a capture as types: two warm-ups, then the capture itself.

use super::{
    Captured,
    arena::{ArenaLease, GraphRegistration},
    error::CaptureError,
    run::{CAPTURED, CapturedRun, RecordedOperations},
};
use crate::{Cuda, CudaError, Error, launch};
use cudarc::driver::CudaGraph;
use std::sync::Arc;

/// Capture after `WARM` warm-ups.
#[derive(Debug)]
#[must_use = "nothing is captured yet"]
pub struct Capture<const WARM: u8> {
    cuda: Cuda,
    room: ArenaLease,
    /// Operations of the last run.
    last: RecordedOperations,
}

impl Cuda {
    /// Begins to capture a step: two [`warm_up`](Capture::warm_up) runs, which are ordinary steps, and a third run, which is recorded but not
    /// executed.
    ///
    /// # Contract
    ///
    /// * The three runs do the same: same operations, shapes and values. A difference is an error of the captured run, with the
    ///   operation's name. Values that are to change between replays are on the device: data in tensors that are
    ///   [written](Cuda::write) to, learning rates and all else of a configuration by `set_config`, the scale by itself.
    /// * The captured run requests no memory that the warm-ups have not requested in the same order, uploads nothing, reads
    ///   nothing, and drops nothing that was there before. Drop the results of the warm-ups, resolved or not, before the next
    ///   run.
    /// * Only the calling thread's use of the handle is captured. Work of other threads on this handle is an error while the captured run lasts, and
    ///   so is work of other handles of the same stream. Handles of other streams go on.
    pub fn capture(&self) -> Capture<0> {
        let room = ArenaLease { arena: Arc::default(), pool: self.inner.pool.clone() };
        Capture { cuda: self.clone(), room, last: RecordedOperations::default() }
    }
}

impl Capture<0> {
    /// Runs the step for the first time, to load kernels and to create memory and tables.
    ///
    /// # Errors
    ///
    /// The step's own.
    pub fn warm_up<R, E: From<Error>>(
        self,
        step: impl FnOnce() -> Result<R, E>,
    ) -> Result<(R, Capture<1>), E> {
        self.run(step)
    }
}

impl Capture<1> {
    /// Runs the step once more. The captured run is compared with this one.
    ///
    /// # Errors
    ///
    /// The step's own.
    pub fn warm_up<R, E: From<Error>>(
        self,
        step: impl FnOnce() -> Result<R, E>,
    ) -> Result<(R, Capture<2>), E> {
        self.run(step)
    }
}

impl Capture<2> {
    /// Captures the step, which does not run.
    ///
    /// # Errors
    ///
    /// [`CudaError::Capture`] with the name of the first operation that cannot be captured, the step's own, and when the driver
    /// does not take the graph.
    pub fn capture<R, E: From<Error>>(
        self,
        step: impl FnOnce() -> Result<R, E>,
    ) -> Result<Captured<R>, E> {
        self.is_capturable()?;
        let open = OpenCapture::begin(&self.cuda, &self.room, CAPTURED, self.last)?;
        let result = step();
        let ((mut run, registered), graph) = open.end()?;
        let result = result?;
        run.outcome()?;
        let graph = self.cuda.check("capture", graph)?;
        let graph = graph.ok_or_else(|| failed("there is no graph"))?;
        let (replay, operations) = (run.replay, run.done.operations.len());
        let Self { cuda, room, .. } = self;
        Ok(Captured { graph, registered, result, replay, _room: room, operations, cuda })
    }

    fn is_capturable(&self) -> Result<(), Error> {
        let stream = self.cuda.stream();
        if launch::is_default(stream) || stream.context().is_managing_stream_synchronization() {
            return Err(CaptureError::Stream.of("capture"));
        }
        Ok(())
    }
}

impl<const WARM: u8> Capture<WARM> {
    fn run<R, E: From<Error>, const NEXT: u8>(
        self,
        step: impl FnOnce() -> Result<R, E>,
    ) -> Result<(R, Capture<NEXT>), E> {
        let open = OpenCapture::begin(&self.cuda, &self.room, WARM, RecordedOperations::default())?;
        let result = step();
        let ((run, _), _) = open.end()?;
        let Self { cuda, room, .. } = self;
        Ok((result?, Capture { cuda, room, last: run.done }))
    }
}

fn failed(cause: &str) -> Error {
    Error::Driver(CudaError::Call { call: "capture", cause: cause.to_owned() })
}

/// Run under way. Dropping this ends it.
struct OpenCapture<'c> {
    cuda: &'c Cuda,
    captures: bool,
    /// True once the run has been taken out; a run in progress after that is another.
    has_ended: bool,
}

/// Result of the driver's capture.
type Graph = Result<Option<CudaGraph>, cudarc::driver::DriverError>;

/// Ended run, and its graph's memory, which stays reserved while this is held.
type FinishedCapture = (CapturedRun, GraphRegistration);

impl<'c> OpenCapture<'c> {
    fn begin(
        cuda: &'c Cuda,
        room: &ArenaLease,
        number: u8,
        expected: RecordedOperations,
    ) -> Result<Self, Error> {
        cuda.check_alive()?;
        // A graph has the record's address from the start, even if the step checks no index.
        cuda.fault_record()?;
        let (recorder, arena) = (&cuda.inner.pool.state, room.arena.clone());
        let captures = number == CAPTURED;
        if captures {
            let begin = || cuda.check("capture", launch::begin_capture(cuda.stream()));
            recorder.begin_capture(arena, expected, begin)?;
        } else {
            recorder.begin(arena, number, expected)?;
        }
        Ok(Self { cuda, captures, has_ended: false })
    }

    fn end(mut self) -> Result<(FinishedCapture, Graph), Error> {
        let (ended, graph) = self.close();
        Ok((ended.ok_or_else(|| failed("the run has ended"))?, graph))
    }

    /// Ends the run, and the stream's capture if it captures.
    fn close(&mut self) -> (Option<FinishedCapture>, Graph) {
        self.has_ended = true;
        let pool = &self.cuda.inner.pool;
        let (graph, ended) = if self.captures {
            pool.state.end_capture(|| launch::end_capture(self.cuda.stream()))
        } else {
            (Ok(None), pool.state.end())
        };
        (ended.map(|(run, uses)| (run, GraphRegistration { uses, pool: pool.clone() })), graph)
    }
}

impl Drop for OpenCapture<'_> {
    /// Ends the run after a panic of the step. Drops the run's buffers after the run.
    fn drop(&mut self) {
        if !self.has_ended {
            drop(self.close());
        }
    }
}
