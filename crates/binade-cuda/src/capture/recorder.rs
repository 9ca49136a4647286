//! Recorder of runs: it tells the pool and the stream whether a run is in progress, and which memory graphs hold.

use super::{
    arena::{Arena, GraphAddresses},
    error::CaptureError,
    gate::{Gate, Turn},
    run::{CAPTURED, CapturedRun, RecordedOperations, Replay},
};
use crate::{
    CudaError, Error,
    memory::{Buffer, Memory},
};
use binade_gpu::{Memory as _, lock};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// Run under way on a handle, and the graphs that are alive.
#[derive(Debug)]
pub struct Recorder {
    state: Mutex<State>,
    /// True while a run is under way.
    is_running: AtomicBool,
    pub(crate) gate: Arc<Gate>,
    /// Number of this handle at the gate.
    handle: u64,
}

#[derive(Debug, Default)]
struct State {
    run: Option<CapturedRun>,
    graphs: Vec<Arc<GraphAddresses>>,
}

impl State {
    /// Returns the run, if it is this thread's.
    fn run(&mut self) -> Option<&mut CapturedRun> {
        self.run.as_mut().filter(|run| run.is_here())
    }

    /// Returns the run, if it is the captured one. Other threads may do nothing meanwhile.
    fn captured(&mut self, operation: &'static str) -> Result<Option<&mut CapturedRun>, Error> {
        match self.run.as_mut().filter(|run| run.is_capture()) {
            Some(run) if !run.is_here() => Err(CaptureError::Thread.of(operation)),
            run => Ok(run),
        }
    }
}

/// Answer to a request for memory.
pub(crate) enum Reservation {
    /// Memory from the arena.
    Here(Memory),
    /// Memory that must be allocated, for this run of this arena.
    Make(Arc<Arena>, u8),
    /// Memory that belongs to no run.
    Elsewhere,
}

impl Recorder {
    pub(crate) fn new(gate: Arc<Gate>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (state, is_running) = (Mutex::default(), AtomicBool::new(false));
        Self { state, is_running, gate, handle: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// Enters the stream's gate for this handle; refused while another handle, or another thread, captures.
    pub(crate) fn turn(&self, operation: &'static str) -> Result<Turn<'_>, Error> {
        let turn = self.gate.capture.read().unwrap_or_else(PoisonError::into_inner);
        match &*turn {
            Some(capture) => capture.lets_in(self.handle, operation).map(|()| turn),
            None => Ok(turn),
        }
    }

    /// Returns true if a run may be under way, whose operations are to be noted.
    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Relaxed)
    }

    pub(super) fn begin(
        &self,
        arena: Arc<Arena>,
        number: u8,
        expected: RecordedOperations,
    ) -> Result<(), Error> {
        let mut state = lock(&self.state);
        if state.run.is_some() {
            return Err(CaptureError::Nested.of("capture"));
        }
        state.run = Some(CapturedRun::new(arena, number, expected));
        self.is_running.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Begins the captured run; `begin` starts the capture in the driver.
    pub(super) fn begin_capture(
        &self,
        arena: Arc<Arena>,
        expected: RecordedOperations,
        begin: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.gate.begin(self.handle, || {
            self.begin(arena, CAPTURED, expected)?;
            begin().inspect_err(|_| drop(self.take(&mut lock(&self.state))))
        })
    }

    /// Ends the run. Returns it, with the addresses that its graph works on if it was captured. They pass from run to graph under
    /// one lock, so that no memory is dropped in between.
    pub(super) fn end(&self) -> Option<(CapturedRun, Arc<GraphAddresses>)> {
        let mut state = lock(&self.state);
        let mut run = self.take(&mut state)?;
        let (addresses, arena) = (std::mem::take(&mut run.addresses), run.arena.clone());
        let uses = Arc::new(GraphAddresses { addresses, arena, kept: Mutex::default() });
        if run.is_capture() {
            state.graphs.push(uses.clone());
        }
        Some((run, uses))
    }

    /// Ends the captured run; `end` ends the capture in the driver.
    pub(super) fn end_capture<T>(
        &self,
        end: impl FnOnce() -> T,
    ) -> (T, Option<(CapturedRun, Arc<GraphAddresses>)>) {
        let ((ended, run), trouble) = self.gate.end(|| (end(), self.end()));
        let run = run.map(|(mut run, uses)| {
            run.trouble = run.trouble.or(trouble);
            (run, uses)
        });
        (ended, run)
    }

    /// Records an operation that is about to be put in the stream.
    pub(crate) fn note(
        &self,
        name: &'static str,
        words: impl FnOnce() -> Vec<u64>,
    ) -> Result<(), Error> {
        let mut state = lock(&self.state);
        state.captured(name)?;
        state.run().map_or(Ok(()), |run| run.note(name, words()))
    }

    /// Refuses an operation that no graph can repeat.
    pub(crate) fn refuse(&self, name: &'static str, why: CaptureError) -> Result<(), Error> {
        match lock(&self.state).captured(name)? {
            Some(run) if matches!(why, CaptureError::Table { .. }) => Err(run.differs(name, why)),
            Some(run) => Err(run.fails(name, why)),
            None => Ok(()),
        }
    }

    /// Returns `Some` if this thread runs a step to be captured, true in the captured run.
    pub(crate) fn running(&self) -> Option<bool> {
        lock(&self.state).run().map(|run| run.is_capture())
    }

    /// Requests memory for the run under way.
    pub(crate) fn serve(&self, bytes: usize) -> Result<Reservation, Error> {
        let mut state = lock(&self.state);
        state.captured("a request for memory")?;
        let Some(run) = state.run() else { return Ok(Reservation::Elsewhere) };
        match run.arena.take(bytes, run.number) {
            Some(memory) => Ok(Reservation::Here(memory)),
            None if run.is_capture() => {
                Err(run.fails(run.last(), CaptureError::Unserved { bytes }))
            }
            None => Ok(Reservation::Make(run.arena.clone(), run.number)),
        }
    }

    /// Takes back dropped memory. Returns it if it goes to the pool.
    pub(crate) fn give(&self, memory: Memory) -> Option<Memory> {
        let mut state = lock(&self.state);
        // The thread does not matter: the graph would have the address all the same.
        if let Some(run) =
            state.run.as_mut().filter(|run| run.is_capture() && !run.lets_go(&memory))
        {
            run.fails(run.last(), CaptureError::Freed { bytes: memory.bytes() });
        }
        if let Some(graph) = state.graphs.iter().find(|graph| graph.needs(&memory)) {
            lock(&graph.kept).push(memory);
            return None;
        }
        match memory.home.clone() {
            Some(home) => home.arena.give(memory, &home),
            None => Some(memory),
        }
    }

    /// Refuses to move memory whose address a graph, or the captured run, has recorded.
    pub(crate) fn check_movable(&self, name: &'static str, memory: &Memory) -> Result<(), Error> {
        let mut state = lock(&self.state);
        let moved = CaptureError::Moved;
        if let Some(run) = state.captured(name)? {
            return if run.allocated(memory) { Ok(()) } else { Err(run.fails(name, moved)) };
        }
        if let Some(run) = state.run() {
            run.moves(name, memory);
        }
        if state.graphs.iter().any(|graph| graph.needs(memory)) {
            return Err(Error::Driver(CudaError::Capture { operation: name, why: moved }));
        }
        Ok(())
    }

    /// Keeps a table that the run has found, and the addresses in it.
    pub(crate) fn table(&self, buffer: &Arc<Buffer>, bytes: &[u8]) {
        if let Some(run) = lock(&self.state).run() {
            run.addresses.extend(words(bytes));
            run.replay.held.push(buffer.clone());
        }
    }

    /// Keeps a buffer to the end of the run, even if all others drop it.
    pub(crate) fn hold(&self, buffer: Arc<Buffer>) {
        if let Some(run) = lock(&self.state).run() {
            run.replay.held.push(buffer);
        }
    }

    /// Calls `add` on the work that each replay of the captured run has to do; `None` outside such a run of this thread.
    pub(crate) fn replayed<T>(&self, add: impl FnOnce(&mut Replay) -> T) -> Option<T> {
        let mut state = lock(&self.state);
        state.run().filter(|run| run.is_capture()).map(|run| add(&mut run.replay))
    }

    pub(super) fn forget(&self, graph: &Arc<GraphAddresses>) {
        lock(&self.state).graphs.retain(|other| !Arc::ptr_eq(other, graph));
    }

    /// Ends the run under way, if there is one.
    fn take(&self, state: &mut State) -> Option<CapturedRun> {
        self.is_running.store(false, Ordering::Relaxed);
        state.run.take()
    }
}

/// Returns bytes as words, the last one filled up with zeros.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(recorder: &Recorder, start: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        recorder.begin_capture(Arc::default(), RecordedOperations::default(), start)
    }

    #[test]
    fn a_capture_that_does_not_begin_leaves_neither_a_run_nor_a_graph() {
        let recorder = Recorder::new(Arc::default());
        let lost = || Err(Error::Driver(CudaError::NoDevice { ordinal: 0, count: 0 }));
        assert!(begin(&recorder, lost).is_err());
        assert!(lock(&recorder.state).run.is_none() && lock(&recorder.state).graphs.is_empty());
        assert_eq!(begin(&recorder, || Ok(())), Ok(()));
        let nested = begin(&recorder, || Ok(()));
        let why = CaptureError::Nested;
        assert_eq!(nested, Err(why.of("capture")));
        let ((), ended) = recorder.end_capture(|| ());
        assert!(ended.is_some() && lock(&recorder.state).graphs.len() == 1);
    }

    #[test]
    fn a_stream_lets_nobody_else_in_while_one_captures_and_everybody_before_and_after() {
        let gate = Arc::<Gate>::default();
        let [one, other] = [gate.clone(), gate].map(Recorder::new);
        let refused = |why: CaptureError| Err(why.of("cast"));
        let enter = |recorder: &Recorder| recorder.turn("cast").map(drop);
        let elsewhere = || std::thread::scope(|scope| scope.spawn(|| enter(&one)).join());
        assert_eq!([enter(&one), enter(&other)], [Ok(()), Ok(())]);
        assert_eq!(begin(&one, || Ok(())), Ok(()));
        assert_eq!([enter(&one), enter(&other)], [Ok(()), refused(CaptureError::Shared)]);
        assert_eq!(elsewhere().ok(), Some(refused(CaptureError::Thread)));
        let ((), ended) = one.end_capture(|| ());
        assert_eq!(ended.and_then(|(run, _)| run.trouble), refused(CaptureError::Shared).err());
        assert_eq!([enter(&one), enter(&other)], [Ok(()), Ok(())]);
    }
}
