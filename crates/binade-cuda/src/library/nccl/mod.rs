//! Communicators of NCCL: ranks that move bytes between their devices, in their streams.

mod api;

pub(crate) use api::Move;

use crate::{CaptureError, Cuda, CudaError, Error};
use api::Comm;
use binade_gpu::lock;
use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock},
    thread,
    time::{Duration, Instant},
};

/// Time that a rank waits for the others, unless it is given another.
const PATIENCE: Duration = Duration::from_mins(10);

/// Time between two looks at work under way.
const PAUSE: Duration = Duration::from_micros(50);

/// Rank of a communicator of NCCL, on a device: threads, processes or machines with a GPU each. [`CudaRank`](crate::CudaRank) trains by it.
///
/// The library is looked for when the first is made, as `libnccl.so.2` and `libnccl.so`. One rank makes an identity, and all are given it
/// by whatever reaches them: a file, MPI, `binade_ranks::Group::broadcast`. One GPU is one rank.
///
/// # Examples
///
/// ```no_run
/// use binade_cuda::{Cuda, CudaRank, Nccl};
///
/// let id = Nccl::unique_id()?;
/// let cuda = Cuda::open(0)?;
/// let device = CudaRank::new(Nccl::new(&cuda, id, 0, 1)?)?;
/// # Ok::<(), binade_cuda::Error>(())
/// ```
pub struct Nccl {
    cuda: Cuda,
    rank: usize,
    ranks: usize,
    patience: Duration,
    /// `None` once it has ended.
    comm: Mutex<Option<Comm>>,
    /// Error that has ended it, which every later call returns.
    end: OnceLock<Error>,
    /// Shared with captured steps, which cannot be replayed without it.
    alive: Arc<()>,
}

impl Nccl {
    /// Returns the identity of a new communicator, which one rank makes for all.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoNccl`] where there is no library, [`CudaError::Nccl`] where it fails.
    pub fn unique_id() -> Result<[u8; 128], Error> {
        let failed = |cause| Error::Driver(CudaError::Nccl { call: "unique_id", cause });
        found()?.unique_id().map_err(failed)
    }

    /// Makes `cuda` rank number `rank` of `ranks`. Returns once all have come.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoNccl`] where there is no library, [`CudaError::Nccl`] where it fails, as it does for a GPU that is a rank already.
    pub fn new(cuda: &Cuda, id: [u8; 128], rank: usize, ranks: usize) -> Result<Self, Error> {
        let api = found()?;
        cuda.reads("a new communicator")?;
        cuda.bind()?;
        let failed = |cause| Error::Driver(CudaError::Nccl { call: "new", cause });
        let comm = Mutex::new(Some(api.join(id, rank, ranks).map_err(failed)?));
        let (cuda, end, alive) = (cuda.clone(), OnceLock::new(), Arc::default());
        Ok(Self { cuda, rank, ranks, patience: PATIENCE, comm, end, alive })
    }

    /// Sets the time that the host waits in `resolve` before it ends the communicator: 10 minutes, unless this sets another.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Returns the number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    pub(crate) fn cuda(&self) -> &Cuda {
        &self.cuda
    }

    /// Puts moves in the stream, which is captured like kernels. The addresses are those of buffers that the caller borrows and has checked.
    pub(crate) fn run(&self, name: &'static str, moves: &[Move]) -> Result<(), Error> {
        self.check()?;
        if moves.is_empty() {
            return Ok(());
        }
        let (cuda, recorder) = (&self.cuda, &self.cuda.inner.pool.state);
        cuda.check_alive()?;
        cuda.bind()?;
        let outcome = cuda.with_stream(name, |stream| {
            recorder.note(name, || moves.iter().flat_map(words).collect())?;
            recorder.replayed(|replay| replay.alive.push(Arc::downgrade(&self.alive)));
            let comm = lock(&self.comm);
            let (Some(comm), api) = (&*comm, found()?) else { return self.check().map(Ok) };
            cuda.launched(name);
            Ok::<_, Error>(api.run(comm, self.rank, moves, stream))
        })??;
        outcome.map_err(|cause| Error::Driver(CudaError::Nccl { call: name, cause }))
    }

    /// Waits until `is_ready` returns true, as long as no rank is known to be gone and patience lasts.
    pub(crate) fn wait_for(
        &self,
        mut is_ready: impl FnMut() -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let since = Instant::now();
        while !is_ready()? {
            self.check()?;
            let error = match &*lock(&self.comm) {
                Some(comm) => found()?.async_error(comm).err(),
                None => None,
            };
            if let Some(cause) = error {
                return Err(Error::Driver(CudaError::Nccl { call: "resolve", cause }));
            }
            if since.elapsed() > self.patience {
                let (ranks, patience) = (self.ranks, self.patience);
                return Err(Error::Driver(CudaError::RankTimeout { ranks, patience }));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Ends the communicator and what is under way, so that no rank waits for this one.
    pub(crate) fn abort(&self) {
        if let (Some(comm), Ok(api)) = (lock(&self.comm).take(), found()) {
            // Its own failure says less than the error that it ends with.
            let _ = self.cuda.bind().map(|()| api.abort(comm));
        }
    }

    /// Ends the communicator for this reason, and returns the first that there was.
    pub(crate) fn ends(&self, error: Error) -> Error {
        self.abort();
        self.end.get_or_init(|| error).clone()
    }

    /// Returns the error that has ended the communicator.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.end.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Refuses a meeting whose outcome the host reads, where a step is captured.
    pub(crate) fn refuse_capture(&self, operation: &'static str) -> Result<(), Error> {
        self.cuda.inner.pool.state.refuse(operation, CaptureError::Read)
    }
}

impl Drop for Nccl {
    /// Ends the communicator behind what is under way. A device that is lost says so at the next call that returns an error.
    fn drop(&mut self) {
        if let (Some(comm), Ok(api)) = (lock(&self.comm).take(), found()) {
            let _ = self.cuda.bind().map(|()| api.destroy(comm));
        }
    }
}

impl fmt::Debug for Nccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.ranks)
    }
}

/// Returns the library.
fn found() -> Result<&'static api::Api, Error> {
    api::api().map_err(|cause| Error::Driver(CudaError::NoNccl { cause: cause.to_owned() }))
}

/// Returns all that the host gives a move.
fn words(step: &Move) -> [u64; 4] {
    match *step {
        Move::AllGather { at, bytes } => [0, at, bytes as u64, 0],
        Move::Broadcast { at, bytes } => [1, at, bytes as u64, 0],
        Move::Send { at, bytes, to } => [2, at, bytes as u64, to as u64],
        Move::Receive { at, bytes, from } => [3, at, bytes as u64, from as u64],
    }
}
