//! Safe wrapper of NCCL's C functions, by their declarations in `nccl.h`, in a library that is found when the first communicator is made.
//! cudarc would look for it by names that NVIDIA's packages do not have, and panic where there is none.
#![expect(unsafe_code, reason = "a C library")]

use crate::ranks::Move;
use cudarc::driver::{CudaStream, sys::CUstream};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// File names to try. NVIDIA's runtime packages have the first, its developer packages both.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// C type `ncclUniqueId`, which is passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
struct UniqueId([u8; 128]);

/// C type `ncclComm_t`.
type Pointer = *mut c_void;

/// Type code of `ncclUint8`: bytes are moved, whatever they are.
const BYTES: c_int = 1;

/// Declares the functions, and looks them up in a library by their names.
macro_rules! functions {
    ($($field:ident: $symbol:ident($($argument:ty),*) -> $result:ty;)+) => {
        /// Functions of a library that stays loaded.
        pub(super) struct Api {
            $($field: unsafe extern "C" fn($($argument),*) -> $result,)+
        }

        impl Api {
            fn of(library: &Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the declarations are those of `nccl.h`, in which they have been the same since NCCL 2.14. Codes are
                    // integers here, since a newer library may have others.
                    $($field: *unsafe {
                        library.get(concat!(stringify!($symbol), "\0").as_bytes())
                    }?,)+
                })
            }
        }
    };
}

functions! {
    unique_id: ncclGetUniqueId(*mut UniqueId) -> c_int;
    init: ncclCommInitRank(*mut Pointer, c_int, UniqueId, c_int) -> c_int;
    async_error: ncclCommGetAsyncError(Pointer, *mut c_int) -> c_int;
    finalize: ncclCommFinalize(Pointer) -> c_int;
    destroy: ncclCommDestroy(Pointer) -> c_int;
    abort: ncclCommAbort(Pointer) -> c_int;
    group_start: ncclGroupStart() -> c_int;
    group_end: ncclGroupEnd() -> c_int;
    all_gather: ncclAllGather(*const c_void, *mut c_void, usize, c_int, Pointer, CUstream) -> c_int;
    broadcast: ncclBroadcast(*const c_void, *mut c_void, usize, c_int, c_int, Pointer, CUstream) -> c_int;
    send: ncclSend(*const c_void, usize, c_int, c_int, Pointer, CUstream) -> c_int;
    receive: ncclRecv(*mut c_void, usize, c_int, c_int, Pointer, CUstream) -> c_int;
    error_text: ncclGetErrorString(c_int) -> *const c_char;
    last_error: ncclGetLastError(Pointer) -> *const c_char;
}

/// Communicator of the library, used by one thread at a time and ended once.
pub(super) struct Comm(Pointer);

// SAFETY: a communicator belongs to no thread, and is behind a lock.
unsafe impl Send for Comm {}

/// Failure of a call, in the library's words.
pub(super) type Failed<T = ()> = Result<T, String>;

impl Api {
    pub(super) fn unique_id(&self) -> Failed<[u8; 128]> {
        let mut id = UniqueId([0; 128]);
        // SAFETY: it writes one identity through the pointer.
        self.done(None, unsafe { (self.unique_id)(&raw mut id) })?;
        Ok(id.0)
    }

    /// Makes a rank of the device whose context is bound to this thread, once all ranks have come.
    pub(super) fn join(&self, id: [u8; 128], rank: usize, ranks: usize) -> Failed<Comm> {
        let mut comm = std::ptr::null_mut();
        let (rank, ranks) = (number(rank), number(ranks));
        // SAFETY: it writes one handle through the pointer.
        self.done(None, unsafe { (self.init)(&raw mut comm, ranks, UniqueId(id), rank) })?;
        Ok(Comm(comm))
    }

    /// Puts moves in the stream, as one group.
    ///
    /// The addresses are the caller's, who borrows their buffers. Every sentence on the page of `launch` holds of this call as of a
    /// kernel's.
    pub(super) fn run(&self, comm: &Comm, moves: &[Move], stream: &CudaStream) -> Failed {
        // SAFETY: nothing but this thread's group.
        self.done(Some(comm), unsafe { (self.group_start)() })?;
        let asked = moves.iter().try_for_each(|step| self.ask(comm, *step, stream));
        // SAFETY: the group is open, and ended also where a call in it has failed.
        let ended = self.done(Some(comm), unsafe { (self.group_end)() });
        asked.and(ended)
    }

    fn ask(&self, comm: &Comm, step: Move, stream: &CudaStream) -> Failed {
        let (to, stream) = (|at: u64| at as *mut c_void, stream.cu_stream());
        // SAFETY: communicator and stream are alive, and of one device. The device addresses hold as many bytes, as the caller has
        // asserted, and work behind this call is in the same stream.
        let code = unsafe {
            match step {
                Move::AllGather { own, at, bytes } => {
                    (self.all_gather)(to(own), to(at), bytes, BYTES, comm.0, stream)
                }
                Move::Broadcast { at, bytes } => {
                    (self.broadcast)(to(at), to(at), bytes, BYTES, 0, comm.0, stream)
                }
                Move::Send { at, bytes, to: peer } => {
                    (self.send)(to(at), bytes, BYTES, number(peer), comm.0, stream)
                }
                Move::Receive { at, bytes, from } => {
                    (self.receive)(to(at), bytes, BYTES, number(from), comm.0, stream)
                }
            }
        };
        self.done(Some(comm), code)
    }

    /// Returns the error that has come up in work under way.
    pub(super) fn async_error(&self, comm: &Comm) -> Failed {
        let mut error = 0;
        // SAFETY: the communicator is alive, and it writes one int.
        self.done(Some(comm), unsafe { (self.async_error)(comm.0, &raw mut error) })?;
        self.done(Some(comm), error)
    }

    /// Ends a communicator after work in progress.
    pub(super) fn destroy(&self, Comm(comm): Comm) -> Failed {
        // SAFETY: the communicator is alive, and not used after this.
        self.done(None, unsafe {
            match (self.finalize)(comm) {
                0 => (self.destroy)(comm),
                _ => (self.abort)(comm),
            }
        })
    }

    /// Ends a communicator and aborts work in progress.
    pub(super) fn abort(&self, Comm(comm): Comm) -> Failed {
        // SAFETY: the communicator is alive, and not used after this.
        self.done(None, unsafe { (self.abort)(comm) })
    }

    /// Returns an error for every code except success and work in progress.
    fn done(&self, comm: Option<&Comm>, code: c_int) -> Failed {
        const IN_PROGRESS: c_int = 7;
        if code == 0 || code == IN_PROGRESS {
            return Ok(());
        }
        let comm = comm.map_or(std::ptr::null_mut(), |comm| comm.0);
        // SAFETY: both texts end with 0, and stay until the thread's next call.
        let [text, last] = [unsafe { (self.error_text)(code) }, unsafe { (self.last_error)(comm) }]
            .map(|text| {
                if text.is_null() {
                    return String::new();
                }
                // SAFETY: not null, and as above.
                unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
            });
        Err(if last.is_empty() {
            format!("{text} ({code})")
        } else {
            format!("{text} ({code}): {last}")
        })
    }
}

/// Returns a rank as a C integer; the number of ranks is small.
fn number(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}

/// Returns the functions, which all devices of the process share, or an error with what was found instead.
pub(super) fn api() -> Result<&'static Api, &'static str> {
    static API: OnceLock<Result<Api, String>> = OnceLock::new();
    API.get_or_init(|| first(&NAMES, load)).as_ref().map_err(String::as_str)
}

/// Returns the library of the first name that `load` finds with all functions.
fn first<T>(names: &[&str], load: impl Fn(&str) -> Option<Failed<T>>) -> Result<T, String> {
    let mut text = format!("looked for {}", names.join(", "));
    for name in names {
        match load(name) {
            Some(Ok(library)) => return Ok(library),
            Some(Err(why)) => text = format!("{text}; {name}: {why}"),
            None => {}
        }
    }
    Err(text)
}

/// Loads a library for as long as the process lives; `None` if the loader finds none of that name.
fn load(name: &str) -> Option<Failed<Api>> {
    // SAFETY: loading runs the library's initialisers, and NVIDIA's libraries are made to be loaded so.
    let library = unsafe { Library::new(name) }.ok()?;
    let functions = Api::of(&library).map_err(|error| error.to_string());
    // Pointers into it must not go stale.
    std::mem::forget(library);
    Some(functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_without_a_function_does_not_hide_one_that_has_all() {
        let load = |name: &str| match name {
            "old" => Some(Err("lacks a function".to_owned())),
            "new" => Some(Ok(name.to_owned())),
            _ => None,
        };
        assert_eq!(first(&["gone", "old", "new"], load), Ok("new".to_owned()));
        let why = "looked for gone, old; old: lacks a function";
        assert_eq!(first(&["gone", "old"], load), Err(why.to_owned()));
    }
}
