//! Safe wrapper of MPI's C interface. It checks every return code.
//!
//! MPI reads and writes the buffers of a call until it completes. [`Pending`] owns them, and never frees them before. An empty buffer has the address
//! 1, which is `MPI_IN_PLACE` in Open MPI. Callers pass no empty buffers, since every part has a head.

use mpi_sys as ffi;
use std::{
    ffi::{c_char, c_int},
    mem, process, ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Result of a call, with MPI's error message.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// Words of a note from one rank to another.
pub(crate) type Note = [u64; 4];

/// Error of a call that is not begun.
const MISFIT: &str = "the lengths of parts fit neither the buffers nor the ranks";

const NOTE_BYTES: usize = size_of::<Note>();
const NOTE_TAG: c_int = 0;

/// Lock held by a thread while it is in MPI, so that only one thread is there at a time, as `MPI_THREAD_SERIALIZED` requires. No call blocks, so no
/// thread holds the lock for long.
static IN_MPI: Mutex<()> = Mutex::new(());

/// Communicator of all ranks, used only by this crate. A process has two, and two threads may use one each.
#[derive(Debug)]
pub(crate) struct World {
    comm: ffi::MPI_Comm,
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    /// Send and receive buffer of the last completed call, reused because allocation takes longer than a copy.
    kept: [Vec<u8>; 2],
}

/// Maximal number of bytes of a kept buffer.
const MOST_KEPT: usize = 64 << 20;

// SAFETY: a communicator is a handle that any thread may use under `MPI_THREAD_SERIALIZED`, which `start` asks for and `enter` keeps.
unsafe impl Send for World {}

/// Call in progress, with its buffers.
#[derive(Debug)]
pub(crate) struct Pending {
    request: ffi::MPI_Request,
    send: Vec<u8>,
    receive: Vec<u8>,
    sends: Parts,
    receives: Parts,
    is_done: bool,
}

// SAFETY: a request is a handle like a communicator, and is used with the `World` alone.
unsafe impl Send for Pending {}

/// Lengths and offsets of concatenated parts.
#[derive(Debug, Default)]
struct Parts {
    lengths: Vec<c_int>,
    starts: Vec<c_int>,
    total: usize,
}

impl World {
    /// Starts MPI, and duplicates two communicators.
    pub(crate) fn start() -> Outcome<[Self; 2]> {
        let _in_mpi = enter();
        let (mut is_started, mut threading, mut rank, mut ranks) = (0, 0, 0, 0);
        // SAFETY: MPI answers this at any time; what it writes to is a local.
        check(unsafe { ffi::MPI_Initialized(&raw mut is_started) })?;
        if is_started != 0 {
            return Err("MPI was started in this process before: start it once, by `run`".into());
        }
        let none = ptr::null_mut();
        // SAFETY: MPI was not started before. It takes no arguments since MPI 2; constants are the library's own.
        let code = unsafe {
            ffi::MPI_Init_thread(
                none,
                none.cast(),
                ffi::RSMPI_THREAD_SERIALIZED,
                &raw mut threading,
            )
        };
        check(code)?;
        // SAFETY: a constant of the library.
        if threading < unsafe { ffi::RSMPI_THREAD_SERIALIZED } {
            return Err("this MPI was built without threads: install one that has them".into());
        }
        // SAFETY: MPI has started; the communicators are made by the first calls and used by the others.
        let comms = unsafe {
            let mut comms = [ffi::RSMPI_COMM_NULL; 2];
            for comm in &mut comms {
                check(ffi::MPI_Comm_dup(ffi::RSMPI_COMM_WORLD, &raw mut *comm))?;
                check(ffi::MPI_Comm_set_errhandler(*comm, ffi::RSMPI_ERRORS_RETURN))?;
            }
            // Open MPI reports a failed non-blocking call on this communicator, whichever the call used.
            let world = ffi::RSMPI_COMM_WORLD;
            check(ffi::MPI_Comm_set_errhandler(world, ffi::RSMPI_ERRORS_RETURN))?;
            check(ffi::MPI_Comm_rank(comms[0], &raw mut rank))?;
            check(ffi::MPI_Comm_size(comms[0], &raw mut ranks))?;
            comms
        };
        let [rank, ranks] = [rank, ranks].map(|count| count.unsigned_abs() as usize);
        Ok(comms.map(|comm| Self { comm, rank, ranks, kept: Default::default() }))
    }

    /// Begins to gather this rank's bytes, which `fill` writes, and those of the other ranks. `lengths` are their numbers.
    pub(crate) fn all_gather(
        &mut self,
        fill: impl FnOnce(&mut Vec<u8>) -> Outcome,
        lengths: &[usize],
    ) -> Outcome<Pending> {
        let buffers = self.buffers(fill)?;
        let sends = Parts::new(&[buffers[0].len()], 1)?;
        let receives = Parts::new(lengths, self.ranks)?;
        if receives.lengths[self.rank] != sends.lengths[0] {
            return Err(MISFIT.into());
        }
        let mut it = Pending::new(buffers, sends, receives)?;
        let _in_mpi = enter();
        // SAFETY: `Pending` has the buffers and their lengths, and keeps them until MPI is done.
        let code = unsafe {
            ffi::MPI_Iallgatherv(
                it.send.as_ptr().cast(),
                it.sends.lengths[0],
                ffi::RSMPI_UINT8_T,
                it.receive.as_mut_ptr().cast(),
                it.receives.lengths.as_ptr(),
                it.receives.starts.as_ptr(),
                ffi::RSMPI_UINT8_T,
                self.comm,
                &raw mut it.request,
            )
        };
        it.begun(code)
    }

    /// Begins to exchange the parts that `fill` writes, which have these lengths.
    pub(crate) fn exchange(
        &mut self,
        fill: impl FnOnce(&mut Vec<u8>) -> Outcome,
        sends: &[usize],
        receives: &[usize],
    ) -> Outcome<Pending> {
        let [sends, receives] = [sends, receives].map(|lengths| Parts::new(lengths, self.ranks));
        let mut it = Pending::new(self.buffers(fill)?, sends?, receives?)?;
        let _in_mpi = enter();
        // SAFETY: `Pending` has the buffers and their lengths, and keeps them until MPI is done.
        let code = unsafe {
            ffi::MPI_Ialltoallv(
                it.send.as_ptr().cast(),
                it.sends.lengths.as_ptr(),
                it.sends.starts.as_ptr(),
                ffi::RSMPI_UINT8_T,
                it.receive.as_mut_ptr().cast(),
                it.receives.lengths.as_ptr(),
                it.receives.starts.as_ptr(),
                ffi::RSMPI_UINT8_T,
                self.comm,
                &raw mut it.request,
            )
        };
        it.begun(code)
    }

    /// Begins to send the bytes of rank `root` to all.
    pub(crate) fn broadcast(&mut self, root: usize, bytes: Vec<u8>) -> Outcome<Pending> {
        let rank = c_int::try_from(root).ok().filter(|_| root < self.ranks);
        let rank = rank.ok_or_else(|| format!("there is no rank {root} among {}", self.ranks))?;
        let receives = Parts::new(&[bytes.len()], 1)?;
        let mut it = Pending::new([vec![], bytes], Parts::default(), receives)?;
        let _in_mpi = enter();
        // SAFETY: `Pending` has the buffer, and keeps it until MPI is done.
        let code = unsafe {
            ffi::MPI_Ibcast(
                it.receive.as_mut_ptr().cast(),
                it.receives.lengths[0],
                ffi::RSMPI_UINT8_T,
                rank,
                self.comm,
                &raw mut it.request,
            )
        };
        it.begun(code)
    }

    /// Begins a barrier.
    pub(crate) fn barrier(&mut self) -> Outcome<Pending> {
        let mut it = Pending::new(Default::default(), Parts::default(), Parts::default())?;
        let _in_mpi = enter();
        // SAFETY: the communicator is this one's, and the request is kept.
        let code = unsafe { ffi::MPI_Ibarrier(self.comm, &raw mut it.request) };
        it.begun(code)
    }

    /// Begins to send a note to rank `rank`.
    pub(crate) fn send_note(&mut self, rank: usize, note: Note) -> Outcome<Pending> {
        let rank = c_int::try_from(rank).map_err(|error| error.to_string())?;
        let bytes = note.map(u64::to_ne_bytes).concat();
        let sends = Parts::new(&[bytes.len()], 1)?;
        let mut it = Pending::new([bytes, vec![]], sends, Parts::default())?;
        let _in_mpi = enter();
        // SAFETY: `Pending` has the buffer, and keeps it until MPI is done.
        let code = unsafe {
            ffi::MPI_Isend(
                it.send.as_ptr().cast(),
                it.sends.lengths[0],
                ffi::RSMPI_UINT8_T,
                rank,
                NOTE_TAG,
                self.comm,
                &raw mut it.request,
            )
        };
        it.begun(code)
    }

    /// Returns a note that has arrived, if there is one.
    pub(crate) fn receive_note(&mut self) -> Outcome<Option<Note>> {
        let (mut has_come, mut bytes) = (0, [[0; 8]; NOTE_BYTES / 8]);
        let _in_mpi = enter();
        // SAFETY: what is written to is a local; no status is asked for.
        check(unsafe {
            let any = ffi::RSMPI_ANY_SOURCE;
            let status = ffi::RSMPI_STATUS_IGNORE;
            ffi::MPI_Iprobe(any, NOTE_TAG, self.comm, &raw mut has_come, status)
        })?;
        if has_come == 0 {
            return Ok(None);
        }
        let len = c_int::try_from(NOTE_BYTES).map_err(|error| error.to_string())?;
        // SAFETY: the array has as many bytes as are told, and a message that has come is received at once.
        check(unsafe {
            ffi::MPI_Recv(
                bytes.as_mut_ptr().cast(),
                len,
                ffi::RSMPI_UINT8_T,
                ffi::RSMPI_ANY_SOURCE,
                NOTE_TAG,
                self.comm,
                ffi::RSMPI_STATUS_IGNORE,
            )
        })?;
        Ok(Some(bytes.map(u64::from_ne_bytes)))
    }

    /// Returns the kept buffers, after `fill` has filled the first.
    fn buffers(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> Outcome) -> Outcome<[Vec<u8>; 2]> {
        let mut buffers = mem::take(&mut self.kept);
        fill(&mut buffers[0]).map(|()| buffers)
    }

    /// Keeps the buffers of a completed call that are larger than the kept ones.
    pub(crate) fn keep(&mut self, mut it: Pending) {
        if it.is_done {
            let used = [mem::take(&mut it.send), mem::take(&mut it.receive)];
            for (kept, used) in self.kept.iter_mut().zip(used) {
                if (kept.capacity()..=MOST_KEPT).contains(&used.capacity()) {
                    *kept = used;
                }
            }
        }
    }

    /// Returns true once the call is complete; its bytes may then be read.
    #[expect(clippy::unused_self, reason = "where there is one, MPI runs")]
    pub(crate) fn is_done(&mut self, it: &mut Pending) -> Outcome<bool> {
        let mut is_done = 0;
        let _in_mpi = enter();
        // SAFETY: the request was begun on this communicator; one that is done was set to null by MPI, for which this is true.
        check(unsafe {
            let status = ffi::RSMPI_STATUS_IGNORE;
            ffi::MPI_Test(&raw mut it.request, &raw mut is_done, status)
        })?;
        it.is_done = is_done != 0;
        Ok(it.is_done)
    }

    /// Frees both communicators and ends MPI. It waits until the other ranks end MPI too.
    pub(crate) fn finish(worlds: [Self; 2]) -> Outcome {
        let _in_mpi = enter();
        for Self { mut comm, .. } in worlds {
            // SAFETY: this was the only handle of the communicator.
            check(unsafe { ffi::MPI_Comm_free(&raw mut comm) })?;
        }
        // SAFETY: no communicator is left, and this is the last use of MPI.
        check(unsafe { ffi::MPI_Finalize() })
    }

    /// Ends every rank at once.
    #[expect(clippy::unused_self, reason = "where there is one, MPI runs")]
    pub(crate) fn abort(self, code: i32) -> ! {
        let _in_mpi = enter();
        // SAFETY: MPI has started, and has not ended as long as there is a `World`.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
        process::exit(code)
    }
}

fn enter() -> MutexGuard<'static, ()> {
    IN_MPI.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pending {
    fn new([send, mut receive]: [Vec<u8>; 2], sends: Parts, receives: Parts) -> Outcome<Self> {
        if send.len() != sends.total {
            return Err(MISFIT.into());
        }
        // A longer buffer keeps its length, since a truncated part would have to be zeroed again.
        if receive.len() < receives.total {
            receive.resize(receives.total, 0);
        }
        // SAFETY: a constant of the library.
        let request = unsafe { ffi::RSMPI_REQUEST_NULL };
        Ok(Self { request, send, receive, sends, receives, is_done: false })
    }

    fn begun(self, code: c_int) -> Outcome<Self> {
        check(code).map(|()| self)
    }

    /// Returns the received bytes of a completed call, and no bytes before.
    pub(crate) fn received(&self) -> &[u8] {
        if self.is_done { &self.receive[..self.receives.total] } else { &[] }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // MPI may still use the buffers of an abandoned call.
        if !self.is_done {
            mem::forget((mem::take(&mut self.send), mem::take(&mut self.receive)));
            mem::forget((mem::take(&mut self.sends), mem::take(&mut self.receives)));
        }
    }
}

impl Parts {
    /// Makes the layout of this many parts. It returns an error if MPI cannot count their bytes.
    fn new(lengths: &[usize], parts: usize) -> Outcome<Self> {
        let total = lengths.iter().try_fold(0_usize, |sum, len| sum.checked_add(*len));
        let total = total.filter(|total| lengths.len() == parts && c_int::try_from(*total).is_ok());
        let total = total.ok_or(MISFIT)?;
        let lengths = lengths.iter().map(|len| c_int::try_from(*len));
        let lengths = lengths.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let starts = lengths.iter().scan(0, |sum, len| Some(mem::replace(sum, *sum + len)));
        Ok(Self { starts: starts.collect(), lengths, total })
    }
}

/// Converts a return code to a result, with MPI's error message.
fn check(code: c_int) -> Outcome {
    // Zero is `MPI_SUCCESS` in every MPI.
    if code == 0 {
        return Ok(());
    }
    // More than `MPI_MAX_ERROR_STRING` of Open MPI, MPICH and Intel MPI, which is 256 to 1024.
    let (mut text, mut len) = ([0 as c_char; 4096], 0);
    // SAFETY: MPI has started, or it would have ended the process; the text has room.
    let told = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr(), &raw mut len) };
    let len = if told == 0 { len.unsigned_abs() as usize } else { 0 };
    let bytes: Vec<u8> = text.iter().take(len).map(|it| it.cast_unsigned()).collect();
    Err(format!("MPI's error {code}: {}", String::from_utf8_lossy(&bytes)))
}
