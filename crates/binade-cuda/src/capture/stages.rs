//! The stages of a capture, by type: two warm-ups, then the capture itself.

use super::{
    Captured,
    arena::Room,
    run::{CAPTURED, Done, Run},
    uses::Registered,
    why::Uncapturable,
};
use crate::{Cuda, CudaError, Error, launch};
use cudarc::driver::CudaGraph;

/// A capture after so many warm-ups.
#[derive(Debug)]
#[must_use = "nothing is captured yet"]
pub struct Capture<const WARM: u8> {
    cuda: Cuda,
    room: Room,
    /// What the last run did.
    last: Done,
}

impl Cuda {
    /// Begins to capture a step: two [`warm_up`](Capture::warm_up) runs, which are steps like any other, and a third that is
    /// written down and not run.
    ///
    /// # Contract
    ///
    /// * The three runs do the same: same operations, shapes and values. What differs is an error of the captured run, by the
    ///   operation's name. What is to change between replays is on the device: data in tensors that are
    ///   [written](Cuda::write) to, learning rates and all else of a plan by `set_plan`, the scale by itself.
    /// * The captured run asks for no memory that the warm-ups have not asked for in the same order, uploads nothing, reads
    ///   nothing, and drops nothing that was there before. Drop what warm-ups give, resolved or not, before the next run.
    /// * The handle is captured on the calling thread alone: other threads' work on this handle is an error while the captured
    ///   run lasts, and so is work of other handles of the same stream; handles of other streams go on.
    pub fn capture(&self) -> Capture<0> {
        let room = Room::new(self.inner.pool.clone());
        Capture { cuda: self.clone(), room, last: Done::default() }
    }
}

impl Capture<0> {
    /// Runs the step for the first time: kernels are loaded, memory and tables are made.
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
    /// Runs the step once more: what it does now is what it will be held to.
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
        let open = Open::begin(&self.cuda, &self.room, CAPTURED, self.last)?;
        let result = step();
        let ((mut run, registered), graph) = open.end()?;
        let result = result?;
        run.outcome()?;
        let graph = self.cuda.check("capture", graph)?;
        let empty = || {
            Error::Driver(CudaError::Call {
                call: "capture",
                cause: "there is no graph".to_owned(),
            })
        };
        let graph = graph.ok_or_else(empty)?;
        Ok(Captured::new(self.cuda, graph, (run, registered), result, self.room))
    }

    fn is_capturable(&self) -> Result<(), Error> {
        let stream = self.cuda.stream();
        if launch::is_default(stream) || stream.context().is_managing_stream_synchronization() {
            return Err(Error::Driver(CudaError::Capture {
                operation: "capture",
                why: Uncapturable::Stream,
            }));
        }
        Ok(())
    }
}

impl<const WARM: u8> Capture<WARM> {
    fn run<R, E: From<Error>, const NEXT: u8>(
        self,
        step: impl FnOnce() -> Result<R, E>,
    ) -> Result<(R, Capture<NEXT>), E> {
        let open = Open::begin(&self.cuda, &self.room, WARM, Done::default())?;
        let result = step();
        let ((run, _), _) = open.end()?;
        let Self { cuda, room, .. } = self;
        Ok((result?, Capture { cuda, room, last: run.done }))
    }
}

/// A run under way, which ends with this whatever happens.
struct Open<'c> {
    cuda: &'c Cuda,
    captures: bool,
    /// Its run has been taken, and what is under way now is somebody else's.
    has_ended: bool,
}

/// What the driver made of a capture.
type Graph = Result<Option<CudaGraph>, cudarc::driver::DriverError>;

/// What the run did, and what the graph, if it has one, works on: others are kept from that for as long as it is held.
type Ended = (Run, Registered);

impl<'c> Open<'c> {
    fn begin(cuda: &'c Cuda, room: &Room, number: u8, expected: Done) -> Result<Self, Error> {
        cuda.alive()?;
        // A graph has the record's address from the start, though the step may take no index.
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

    fn end(mut self) -> Result<(Ended, Graph), Error> {
        let (ended, graph) = self.close();
        let gone = || {
            Error::Driver(CudaError::Call {
                call: "capture",
                cause: "the run has ended".to_owned(),
            })
        };
        Ok((ended.ok_or_else(gone)?, graph))
    }

    /// The stream captures no more.
    fn close(&mut self) -> (Option<Ended>, Graph) {
        self.has_ended = true;
        let pool = &self.cuda.inner.pool;
        let (graph, ended) = if self.captures {
            pool.state.end_capture(|| launch::end_capture(self.cuda.stream()))
        } else {
            (Ok(None), pool.state.end())
        };
        (ended.map(|(run, uses)| (run, Registered::new(uses, pool))), graph)
    }
}

impl Drop for Open<'_> {
    /// After a panic of the step. What the run has held goes once it has ended.
    fn drop(&mut self) {
        if !self.has_ended {
            drop(self.close());
        }
    }
}
