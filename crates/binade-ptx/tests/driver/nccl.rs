//! NCCL by its C functions: ranks are threads, each with a device, that move bytes in streams and in graphs, or are told why not.

use std::{
    ffi::{CStr, c_char, c_int},
    sync::{Arc, LazyLock},
};

use cudarc::driver::{
    CudaContext, CudaStream, DevicePtrMut,
    sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
};
use libloading::Library;

use super::process::alone;

type Id = [u8; 128];

/// C type `ncclUniqueId`.
#[derive(Clone, Copy)]
#[repr(C)]
struct UniqueId(Id);

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    // SAFETY: the stand-in has no initialisers.
    unsafe { Library::new("libnccl.so.2") }.unwrap()
});

/// Calls a function of the library by its name and the types of its arguments, and returns its code.
macro_rules! nccl {
    ($name:ident($($value:expr => $kind:ty),*)) => {{
        type Function = unsafe extern "C" fn($($kind),*) -> c_int;
        // SAFETY: the declaration is that of `nccl.h`, and what is wrong with arguments is what is tested.
        unsafe {
            LIBRARY.get::<Function>(concat!(stringify!($name), "\0").as_bytes()).unwrap()($($value),*)
        }
    }};
}

const BYTES: c_int = 1;

/// Rank of a test: its communicator, its device's stream, and memory: 64 bytes of the rank's number plus 1, and 512 of 0.
struct Rank {
    number: u8,
    comm: u64,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    own: u64,
    all: u64,
}

fn new_id() -> Id {
    let mut id = UniqueId([0; 128]);
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id => *mut UniqueId)), 0);
    id.0
}

impl Rank {
    fn new(id: Id, rank: u8, ranks: u8, device: usize) -> Result<Self, c_int> {
        let context = CudaContext::new(device).unwrap();
        // SAFETY: one stream a device, and no slice outlives its work.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().unwrap();
        let mut comm = 0;
        let code = nccl!(ncclCommInitRank(
            &raw mut comm => *mut u64, ranks.into() => c_int, UniqueId(id) => UniqueId, rank.into() => c_int
        ));
        if code != 0 {
            return Err(code);
        }
        let own = stream.clone_htod(&[rank + 1; 64]).unwrap();
        let all = stream.alloc_zeros::<u8>(512).unwrap();
        let (own, all) = (own.leak(), all.leak());
        Ok(Self { number: rank, comm, context, stream, own, all })
    }

    fn gather(&self, bytes: usize) -> c_int {
        let (comm, stream) = (self.comm, self.stream.cu_stream() as u64);
        nccl!(ncclAllGather(
            self.own => u64, self.all => u64, bytes => usize, BYTES => c_int, comm => u64, stream => u64
        ))
    }

    fn broadcast(&self, root: c_int) -> c_int {
        let (comm, stream) = (self.comm, self.stream.cu_stream() as u64);
        nccl!(ncclBroadcast(
            self.own => u64, self.all => u64, 64 => usize, BYTES => c_int, root => c_int, comm => u64, stream => u64
        ))
    }

    fn send(&self, at: u64, bytes: usize, to: u8) -> c_int {
        let (comm, stream) = (self.comm, self.stream.cu_stream() as u64);
        nccl!(ncclSend(at => u64, bytes => usize, BYTES => c_int, to.into() => c_int, comm => u64, stream => u64))
    }

    fn receive(&self, at: u64, bytes: usize, from: u8) -> c_int {
        let (comm, stream) = (self.comm, self.stream.cu_stream() as u64);
        nccl!(ncclRecv(at => u64, bytes => usize, BYTES => c_int, from.into() => c_int, comm => u64, stream => u64))
    }

    /// Sends 8 bytes to every other rank, in one group.
    fn exchange(&self, ranks: u8) -> c_int {
        assert_eq!(nccl!(ncclGroupStart()), 0);
        for other in (0..ranks).filter(|other| *other != self.number) {
            let step = 8 * u64::from(other);
            assert_eq!(self.send(self.own + step, 8, other), 0);
            assert_eq!(self.receive(self.all + step, 8, other), 0);
        }
        nccl!(ncclGroupEnd())
    }

    /// Returns the first bytes of what has come.
    fn received(&self, bytes: usize) -> Vec<u8> {
        self.context.bind_to_thread().unwrap();
        let mut values = vec![0; bytes];
        // SAFETY: the memory was leaked by `new`, and has as many bytes.
        unsafe { cudarc::driver::result::memcpy_dtoh_sync(&mut values, self.all) }.unwrap();
        values
    }
}

/// Returns the text of this thread's last error.
fn last_error() -> String {
    type Function = unsafe extern "C" fn(u64) -> *const c_char;
    // SAFETY: as for the other functions; the text stays until the thread's next error.
    unsafe {
        let text = LIBRARY.get::<Function>(b"ncclGetLastError\0").unwrap()(0);
        CStr::from_ptr(text).to_str().unwrap().to_owned()
    }
}

/// Runs each rank in a thread of its own, and returns their results.
fn each<T: Send>(ranks: u8, run: impl Fn(Rank) -> T + Sync) -> Vec<T> {
    CudaContext::new(0).unwrap();
    let (id, run) = (new_id(), &run);
    std::thread::scope(|scope| {
        let rank =
            |rank| scope.spawn(move || run(Rank::new(id, rank, ranks, rank.into()).unwrap()));
        let running: Vec<_> = (0..ranks).map(rank).collect();
        running.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn bytes_go_where_they_are_sent() {
    alone!(["BINADE_PTX_DEVICES" = "4"], {
        let got = each(4, |rank| {
            assert_eq!(rank.gather(2), 0);
            let gathered = rank.received(8);
            assert_eq!(rank.broadcast(2), 0);
            let told = rank.received(2);
            assert_eq!(rank.exchange(4), 0);
            (gathered, told, rank.received(32))
        });
        for (rank, (gathered, told, exchanged)) in got.iter().enumerate() {
            assert_eq!(gathered, &[1, 1, 2, 2, 3, 3, 4, 4]);
            assert_eq!(told, &[3, 3]);
            let of = |from: usize| if from == rank { 3 } else { u8::try_from(from).unwrap() + 1 };
            let want: Vec<u8> = (0..4).flat_map(|from| [of(from); 8]).collect();
            assert_eq!(exchanged, &want);
        }
    });
}

#[test]
fn a_captured_call_meets_the_others_with_each_launch() {
    alone!(["BINADE_PTX_DEVICES" = "2"], {
        let got = each(2, |rank| {
            assert_eq!(rank.exchange(2), 0);
            rank.stream
                .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
                .unwrap();
            assert_eq!((rank.gather(2), rank.exchange(2)), (0, 0));
            let graph = rank.stream.end_capture(CUgraphInstantiate_flags(0)).unwrap().unwrap();
            let before = rank.received(4);
            graph.launch().unwrap();
            let first = rank.received(16);
            // The graph reads memory as it is with each launch.
            let mut view = rank.stream.clone_htod(&[7 + rank.number; 64]).unwrap();
            // SAFETY: both are alive and have 64 bytes.
            unsafe {
                let (from, _guard) = view.device_ptr_mut(&rank.stream);
                cudarc::driver::result::memcpy_dtod_async(
                    rank.own,
                    from,
                    64,
                    rank.stream.cu_stream(),
                )
            }
            .unwrap();
            graph.launch().unwrap();
            (before, first, rank.received(16))
        });
        // Rank 0 has gathered bytes, and behind them those of the exchange, which on rank 1 lie over the gathered ones.
        let of = |one: u8, two: u8| {
            let zero = [&[one, one, two, two, 0, 0, 0, 0][..], &[two; 8]].concat();
            [zero, [[one; 8], [0; 8]].concat()]
        };
        let [want, later] = [of(1, 2), of(7, 8)];
        for (rank, (before, first, second)) in got.into_iter().enumerate() {
            assert_eq!(before, [[0; 4], [1; 4]][rank], "nothing has run yet");
            assert_eq!([&first, &second], [&want[rank], &later[rank]]);
        }
    });
}

#[test]
fn calls_that_differ_end_the_communicator_on_all_ranks_with_one_text() {
    let told = alone!(["BINADE_PTX_DEVICES" = "3"], {
        type Differ = fn(&Rank) -> c_int;
        let cases: [(Differ, &str); 4] = [
            (
                |rank| rank.gather(2 + usize::from(rank.number / 2)),
                "rank 2 for AllGather of 3 elements",
            ),
            (
                |rank| if rank.number == 1 { rank.broadcast(0) } else { rank.gather(2) },
                "rank 1 for Broadcast { root: 0 }",
            ),
            (
                |rank| if rank.number == 1 { rank.exchange(3) } else { rank.gather(2) },
                "rank 1 for nothing",
            ),
            (
                |rank| match rank.number {
                    0 => rank.send(rank.own, 8, 1),
                    1 => rank.receive(rank.all, 4, 0),
                    _ => rank.send(rank.own, 8, 0),
                },
                "rank 0 asks for Send { to: 1 } of 8 elements of type 1, and rank 1 for Receive { from: 0 } of 4",
            ),
        ];
        for (call, text) in cases {
            let got = each(3, |rank| {
                let (code, said) = (call(&rank), last_error());
                let mut error = 0;
                nccl!(ncclCommGetAsyncError(rank.comm => u64, &raw mut error => *mut c_int));
                (code, said, error, rank.gather(2))
            });
            for (code, said, error, later) in &got {
                assert_eq!((code, error, later), (&5, &6, &5), "{said}");
                assert!(said.contains(text), "{said}");
            }
        }
    });
    assert!(told.is_none_or(|told| told.contains("binade-ptx: NCCL: rank 0 asks for AllGather")));
}

#[test]
fn memory_must_be_the_ranks_own_and_not_lie_over_each_other() {
    alone!(["BINADE_PTX_DEVICES" = "2"], {
        let got = each(2, |rank| {
            assert_eq!(rank.gather(2), 0);
            let refused = [
                rank.gather(65),
                rank.send(rank.own ^ 1 << 40, 8, 1 - rank.number),
                rank.send(rank.own, 8, rank.number),
                rank.receive(rank.own + 60, 8, 1 - rank.number),
            ];
            nccl!(ncclGroupStart());
            rank.send(rank.own, 8, 1 - rank.number);
            rank.receive(rank.own + 7, 8, 1 - rank.number);
            let over = nccl!(ncclGroupEnd());
            // A call that its own rank refused was not told to the other.
            (refused, over, rank.gather(4))
        });
        assert_eq!(got, [([4; 4], 4, 0); 2]);
    });
}

#[test]
fn a_rank_that_never_comes_or_is_gone_is_told_to_those_who_wait() {
    alone!(["BINADE_PTX_DEVICES" = "2", "BINADE_PTX_PATIENCE" = "1"], {
        let got = each(2, |rank| (rank.number == 0).then(|| (rank.gather(2), last_error())));
        let (code, said) = got[0].clone().unwrap();
        assert_eq!(code, 2);
        assert!(said.contains("ranks [1] did not come in time"), "{said}");
        let got = each(2, |rank| match rank.number {
            0 => (rank.gather(2), last_error()),
            _ => (nccl!(ncclCommAbort(rank.comm => u64)), String::new()),
        });
        assert_eq!((got[0].0, got[1].0), (6, 0));
        assert!(got[0].1.contains("rank 1 has aborted its communicator"), "{}", got[0].1);
    });
}

#[test]
fn one_device_is_one_rank_and_an_identity_says_how_many_there_are() {
    alone!(["BINADE_PTX_DEVICES" = "2"], {
        CudaContext::new(0).unwrap();
        let both = |ranks: [u8; 2], devices: [usize; 2]| {
            let id = new_id();
            std::thread::scope(|scope| {
                let join = |rank: usize| {
                    let number = u8::try_from(rank).unwrap();
                    scope.spawn(move || Rank::new(id, number, ranks[rank], devices[rank]).err())
                };
                [0, 1].map(join).map(|rank| rank.join().unwrap())
            })
        };
        assert_eq!(both([2, 2], [0, 1]), [None; 2]);
        assert_eq!(both([2, 2], [1, 1]), [Some(5); 2]);
        assert!(both([2, 3], [0, 1]).contains(&Some(5)));
        assert_eq!(Rank::new([0; 128], 0, 1, 0).err(), Some(2));
    });
}

#[test]
fn a_graph_whose_ranks_differ_is_a_fault_of_their_contexts() {
    alone!(["BINADE_PTX_DEVICES" = "2"], {
        let got = each(2, |rank| {
            let new = [false, true].map(|is_warm| {
                if is_warm {
                    assert_eq!(rank.gather(2), 0);
                }
                rank.stream
                    .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
                    .unwrap();
                let code = rank.gather(2 + usize::from(rank.number));
                (code, rank.stream.end_capture(CUgraphInstantiate_flags(0)).unwrap())
            });
            let [(cold, _), (warm, graph)] = new;
            graph.unwrap().launch().unwrap();
            (cold, warm, rank.stream.synchronize().is_err())
        });
        assert_eq!(got, [(5, 0, true); 2]);
    });
}

#[test]
fn a_call_from_a_graph_does_not_meet_one_from_a_stream() {
    alone!(["BINADE_PTX_DEVICES" = "2"], {
        let got = each(2, |rank| {
            assert_eq!(rank.gather(2), 0);
            if rank.number == 1 {
                return rank.gather(2) == 5 && last_error().contains("rank 1 from a stream");
            }
            rank.stream
                .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
                .unwrap();
            assert_eq!(rank.gather(2), 0);
            let graph = rank.stream.end_capture(CUgraphInstantiate_flags(0)).unwrap();
            graph.unwrap().launch().unwrap();
            rank.stream.synchronize().is_err()
        });
        assert_eq!(got, [true; 2]);
    });
}
