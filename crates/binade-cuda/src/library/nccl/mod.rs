//! NCCL as the engine of ranks: threads, processes or machines with a GPU each.

mod api;

use crate::{
    Communicator, Cuda, CudaError, Error,
    ranks::{Engine, Move, timed_out},
};
use api::Comm;
use binade_gpu::lock;
use std::{
    sync::{
        Arc, Mutex,
        mpsc::{RecvTimeoutError, SendError, sync_channel},
    },
    thread,
    time::Duration,
};

impl Communicator {
    /// Returns the identity of a new NCCL communicator. One rank creates it for all.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoNccl`] if there is no library, [`CudaError::Communication`] if it fails.
    pub fn nccl_id() -> Result<[u8; 128], Error> {
        found()?.unique_id().map_err(|cause| failed("nccl_id", &cause))
    }

    /// Makes `cuda` rank number `rank` of `ranks` that NCCL connects. Returns once all have come. Here and in `resolve` a rank waits as long as
    /// `patience` for the others.
    ///
    /// The first call loads the library, `libnccl.so.2` or `libnccl.so`. One rank creates the identity and sends it to all by any means: a file, MPI,
    /// `binade_ranks::Group::broadcast`. Each rank needs its own GPU.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoNccl`] if there is no library, [`CudaError::RankTimeout`] if ranks do not join, [`CudaError::Communication`] if the library
    /// fails, as for a GPU that is already a rank.
    pub fn nccl(
        cuda: &Cuda,
        id: [u8; 128],
        [rank, ranks]: [usize; 2],
        patience: Duration,
    ) -> Result<Self, Error> {
        let api = found()?;
        cuda.reads("a new communicator")?;
        let comm = join(api, cuda, id, [rank, ranks], patience)?;
        let engine = Nccl { api, comm: Mutex::new(Some(comm)), alive: Arc::default() };
        let (cuda, engine) = (cuda.clone(), Box::new(engine));
        Ok(Self::new(cuda, [rank, ranks], patience, engine))
    }
}

/// Makes a communicator in a separate thread, because the library waits for ranks without a limit. A thread whose ranks join too late ends its
/// communicator.
fn join(
    api: &'static api::Api,
    cuda: &Cuda,
    id: [u8; 128],
    [rank, ranks]: [usize; 2],
    patience: Duration,
) -> Result<Comm, Error> {
    let (give, take) = sync_channel(0);
    let device = cuda.clone();
    thread::spawn(move || {
        let joined = device
            .bind()
            .and_then(|()| api.join(id, rank, ranks).map_err(|cause| failed("nccl", &cause)));
        if let Err(SendError(Ok(comm))) = give.send(joined) {
            // Its failure is less informative than the error of the rank that waited.
            let _ = api.abort(comm);
        }
    });
    take.recv_timeout(patience).unwrap_or_else(|error| {
        Err(match error {
            RecvTimeoutError::Timeout => timed_out("nccl", ranks, Vec::new(), patience),
            RecvTimeoutError::Disconnected => failed("nccl", "nothing: its thread panicked"),
        })
    })
}

/// Rank of a communicator of the library.
struct Nccl {
    api: &'static api::Api,
    /// `None` once it has ended.
    comm: Mutex<Option<Comm>>,
    /// Shared with captured steps, which cannot be replayed without it.
    alive: Arc<()>,
}

impl Engine for Nccl {
    fn run(&self, cuda: &Cuda, call: &'static str, moves: &[Move]) -> Result<(), Error> {
        let recorder = &cuda.inner.pool.state;
        recorder.note(call, || moves.iter().flat_map(words).collect())?;
        recorder.replayed(|replay| replay.alive.push(Arc::downgrade(&self.alive)));
        let comm = lock(&self.comm);
        let comm = comm.as_ref().ok_or_else(|| failed(call, "nothing: this rank has ended"))?;
        cuda.launched(call);
        let ran = self.api.run(comm, moves, cuda.stream());
        ran.map_err(|cause| failed(call, &cause))
    }

    fn failure(&self) -> Result<(), Error> {
        let comm = lock(&self.comm);
        let error = comm.as_ref().map_or(Ok(()), |comm| self.api.async_error(comm));
        error.map_err(|cause| failed("resolve", &cause))
    }

    fn abort(&self, cuda: &Cuda) {
        if let Some(comm) = lock(&self.comm).take() {
            // Its failure is less informative than the error that ends the communicator.
            let _ = cuda.bind().map(|()| self.api.abort(comm));
        }
    }

    fn finish(&self, cuda: &Cuda) {
        if let Some(comm) = lock(&self.comm).take() {
            let _ = cuda.bind().map(|()| self.api.destroy(comm));
        }
    }
}

fn failed(call: &'static str, cause: &str) -> Error {
    let cause = format!("NCCL says {cause}");
    Error::Driver(CudaError::Communication { call, cause })
}

/// Returns the library.
fn found() -> Result<&'static api::Api, Error> {
    api::api().map_err(|cause| Error::Driver(CudaError::NoNccl { cause: cause.to_owned() }))
}

/// Returns all that the host gives a move.
fn words(step: &Move) -> [u64; 4] {
    match *step {
        Move::AllGather { own, at, bytes } => [0, at, bytes as u64, own],
        Move::Broadcast { at, bytes } => [1, at, bytes as u64, 0],
        Move::Send { at, bytes, to } => [2, at, bytes as u64, to as u64],
        Move::Receive { at, bytes, from } => [3, at, bytes as u64, from as u64],
    }
}
