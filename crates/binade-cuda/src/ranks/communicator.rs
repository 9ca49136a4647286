//! Ranks that move bytes between their devices, in their streams, by the engine that connects them.

use super::peers;
use crate::{CaptureError, Cuda, CudaError, Error};
use std::{
    fmt,
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

/// Interval for polling work in progress.
const PAUSE: Duration = Duration::from_micros(50);

/// Rank of several, each a GPU that a thread or process drives. [`CudaRank`](crate::CudaRank) trains by it.
///
/// # Examples
///
/// ```no_run
/// use binade_cuda::{Communicator, Cuda, CudaRank};
/// use std::{thread, time::Duration};
///
/// let devices = vec![Cuda::open(0)?, Cuda::open(1)?];
/// for communicator in Communicator::peers(devices, Duration::from_mins(5)) {
///     thread::spawn(move || {
///         let device = CudaRank::new(communicator)?;
///         // From here on as on one device, with this rank's part of each batch.
///         # drop(device);
///         Ok::<(), binade_cuda::Error>(())
///     });
/// }
/// # Ok::<(), binade_cuda::Error>(())
/// ```
pub struct Communicator {
    cuda: Cuda,
    rank: usize,
    ranks: usize,
    patience: Duration,
    engine: Box<dyn Engine>,
    /// Error that ended the communicator; every later call returns it.
    end: OnceLock<Error>,
}

/// Transport of bytes between ranks.
pub(crate) trait Engine: Send + Sync {
    /// Puts moves in the stream of `cuda`, whose turn the caller has. Addresses are those of buffers that the caller borrows and has
    /// checked.
    fn run(&self, cuda: &Cuda, call: &'static str, moves: &[Move]) -> Result<(), Error>;

    /// Returns the error that has come up in work under way.
    fn failure(&self) -> Result<(), Error>;

    /// Ends the calls of all ranks, and aborts work in progress, so that no rank waits for this one.
    fn abort(&self, cuda: &Cuda);

    /// Ends the calls of all ranks after work in progress.
    fn finish(&self, cuda: &Cuda);
}

/// Move of bytes between this rank's memory, at an address, and others'.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    /// Copies each rank's `own` part to its place in the memory of all parts, on every rank. The part may already be in place.
    AllGather { own: u64, at: u64, bytes: usize },
    /// Copies from rank 0 to the same memory on all ranks.
    Broadcast { at: u64, bytes: usize },
    /// Copies to the memory that the other rank's `Receive` names.
    Send { at: u64, bytes: usize, to: usize },
    /// Receives the other rank's `Send`, one per call.
    Receive { at: u64, bytes: usize, from: usize },
}

impl Communicator {
    /// Makes each device a rank, in their order, that copies from the others' memory. Each is for a thread of its own. A call waits as long as
    /// `patience` for the other ranks to make it; it never waits for a device. No communication library is needed.
    ///
    /// Copies go by `cuMemcpyPeerAsync`: the driver chooses the way, without peer access through the host. Two handles of one device are
    /// two ranks. A step of several such ranks cannot be captured: [`CaptureError::Peers`].
    pub fn peers(devices: Vec<Cuda>, patience: Duration) -> Vec<Self> {
        let engines = peers::engines(devices.len(), patience);
        let ranks = devices.len();
        let rank = |(rank, (cuda, engine)): (usize, (Cuda, peers::Peer))| {
            Self::new(cuda, [rank, ranks], patience, Box::new(engine))
        };
        devices.into_iter().zip(engines).enumerate().map(rank).collect()
    }

    pub(crate) fn new(
        cuda: Cuda,
        [rank, ranks]: [usize; 2],
        patience: Duration,
        engine: Box<dyn Engine>,
    ) -> Self {
        Self { cuda, rank, ranks, patience, engine, end: OnceLock::new() }
    }

    /// Returns the number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    pub(super) fn cuda(&self) -> &Cuda {
        &self.cuda
    }

    /// Puts moves in the stream. Addresses are those of buffers that the caller borrows and has checked.
    pub(super) fn run(&self, call: &'static str, moves: &[Move]) -> Result<(), Error> {
        self.check()?;
        if moves.is_empty() {
            return Ok(());
        }
        self.cuda.check_alive()?;
        self.cuda.bind()?;
        self.cuda.with_stream(call, |_| self.engine.run(&self.cuda, call, moves))?
    }

    /// Waits until `is_ready` returns true, as long as no rank is known to be gone and patience lasts.
    pub(super) fn wait_for(
        &self,
        mut is_ready: impl FnMut() -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let since = Instant::now();
        while !is_ready()? {
            self.check()?;
            self.engine.failure()?;
            if since.elapsed() > self.patience {
                return Err(timed_out("resolve", self.ranks, Vec::new(), self.patience));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Ends the calls of all ranks for this reason, and returns the first that there was.
    pub(super) fn ends(&self, error: Error) -> Error {
        self.engine.abort(&self.cuda);
        self.end.get_or_init(|| error).clone()
    }

    /// Ends the calls of all ranks, so that no rank waits for this one.
    pub(super) fn abort(&self) {
        self.engine.abort(&self.cuda);
    }

    /// Returns the error that has ended the calls.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.end.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Refuses, during a capture, a collective call whose outcome the host reads.
    pub(super) fn refuse_capture(&self, operation: &'static str) -> Result<(), Error> {
        self.cuda.inner.pool.state.refuse(operation, CaptureError::Read)
    }
}

impl Drop for Communicator {
    /// Ends the calls of all ranks after work in progress. A lost device is reported by the next call that returns an error.
    fn drop(&mut self) {
        self.engine.finish(&self.cuda);
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.ranks)
    }
}

/// Returns the error of a call that some ranks did not make; `missing` is empty where they are not known.
pub(crate) fn timed_out(
    call: &'static str,
    ranks: usize,
    missing: Vec<usize>,
    patience: Duration,
) -> Error {
    Error::Driver(CudaError::RankTimeout { call, ranks, missing, patience })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::device;

    #[test]
    fn a_wait_for_the_device_ends_with_patience() {
        let Some(cuda) = device() else { return };
        let patience = Duration::from_millis(20);
        let ranks = Communicator::peers(vec![cuda.clone(), cuda], patience);
        let [rank, _] = &ranks[..] else { panic!("{ranks:?}") };
        let late = timed_out("resolve", 2, Vec::new(), patience);
        assert_eq!(rank.wait_for(|| Ok(false)), Err(late.clone()));
        let told = "resolve: some of 2 ranks did not come within 20ms: they have stalled";
        assert!(late.to_string().starts_with(told), "{late}");
        assert_eq!(rank.wait_for(|| Ok(true)), Ok(()));
        rank.ends(late.clone());
        assert_eq!(rank.wait_for(|| Ok(false)), Err(late));
    }
}
