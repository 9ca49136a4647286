//! Functions of NCCL that move bytes between ranks. Programs load that library by its own name.

use std::{
    cell::RefCell,
    ffi::{CStr, CString, c_char, c_int},
    process,
};

use super::{abi::Out, call::wait};
use crate::driver::state::{
    Driver, Handle, NcclCall as Call, NcclFailure as Failure, NcclKind as Kind,
    NcclStatus as Status, NcclTicket as Ticket, nccl_group_start, tell,
};

type Result<T = ()> = std::result::Result<T, Failure>;

/// C type `ncclUniqueId`, which is passed by value: number of the identity and the process that made it.
#[derive(Clone, Copy)]
#[repr(C)]
struct UniqueId([u8; 128]);

impl UniqueId {
    fn new(number: u64) -> Self {
        let mut bytes = [0; 128];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[8..12].copy_from_slice(&process::id().to_le_bytes());
        Self(bytes)
    }

    fn number(self) -> Result<u64> {
        if self.0[8..12] != process::id().to_le_bytes() {
            let text = "an identity of another process: ranks are threads here".to_owned();
            return Err(Failure::new(Status::SystemError, text));
        }
        let mut number = [0; 8];
        number.copy_from_slice(&self.0[..8]);
        Ok(u64::from_le_bytes(number))
    }
}

fn index(number: c_int) -> Result<usize> {
    let negative = |_| Failure::new(Status::InvalidArgument, format!("{number} is no rank"));
    usize::try_from(number).map_err(negative)
}

fn number(index: usize) -> c_int {
    c_int::try_from(index).unwrap_or(c_int::MAX)
}

thread_local! {
    /// Text of the thread's last failure.
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps and prints the text of a failure, and returns its code.
fn code(failure: Failure) -> c_int {
    tell(format_args!("NCCL: {}", failure.text));
    LAST.set(CString::new(failure.text).unwrap_or_default());
    failure.status as c_int
}

/// Makes a call, and waits if it returns a ticket.
fn call(name: &str, ask: impl FnOnce(&mut Driver) -> Result<Option<Ticket>>) -> c_int {
    let has_come = |driver: &mut Driver, ticket: &mut Option<Ticket>, is_late| {
        ticket.map_or(Ok(true), |ticket| driver.nccl_has_come(ticket, is_late))
    };
    let codes = [Status::UnhandledCudaError as c_int, Status::InternalError as c_int];
    wait(name, codes, code, ask, has_come)
}

/// Defines exported functions, each by its call, a `Result<Option<Ticket>>`.
macro_rules! api {
    ($(fn $name:ident($driver:ident $(, $argument:ident: $kind:ty)* $(,)?) = $call:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> c_int {
            call(stringify!($name), |$driver| $call)
        }
    )*};
}

api! {
    fn ncclCommInitRank(driver, comm: Out<Handle>, ranks: c_int, id: UniqueId, rank: c_int) = {
        let (made, ticket) = driver.nccl_join(id.number()?, index(ranks)?, index(rank)?)?;
        comm.set(made)?;
        Ok(Some(ticket))
    };
    fn ncclCommCount(driver, comm: Handle, count: Out<c_int>) = {
        count.set(number(driver.nccl_place(comm)?[0]))?;
        Ok(None)
    };
    fn ncclCommUserRank(driver, comm: Handle, rank: Out<c_int>) = {
        rank.set(number(driver.nccl_place(comm)?[1]))?;
        Ok(None)
    };
    fn ncclCommGetAsyncError(driver, comm: Handle, error: Out<c_int>) = {
        error.set(driver.nccl_async_error(comm)?)?;
        Ok(None)
    };
    fn ncclCommFinalize(driver, comm: Handle) = driver.nccl_check(comm).map(|()| None);
    fn ncclCommDestroy(driver, comm: Handle) = driver.nccl_leave(comm, "destroyed").map(|()| None);
    fn ncclCommAbort(driver, comm: Handle) = driver.nccl_leave(comm, "aborted").map(|()| None);
    fn ncclGroupEnd(driver) = driver.nccl_group_end();
    fn ncclAllGather(driver, send: u64, receive: u64, count: usize, dtype: c_int, comm: Handle, stream: Handle) =
        driver.nccl_call(comm, stream, Call { kind: Kind::AllGather, send, receive, count, dtype });
    fn ncclBroadcast(driver, send: u64, receive: u64, count: usize, dtype: c_int, root: c_int, comm: Handle, stream: Handle) =
        driver.nccl_call(comm, stream, Call { kind: Kind::Broadcast { root: index(root)? }, send, receive, count, dtype });
    fn ncclSend(driver, send: u64, count: usize, dtype: c_int, peer: c_int, comm: Handle, stream: Handle) =
        driver.nccl_call(comm, stream, Call { kind: Kind::Send { to: index(peer)? }, send, receive: 0, count, dtype });
    fn ncclRecv(driver, receive: u64, count: usize, dtype: c_int, peer: c_int, comm: Handle, stream: Handle) =
        driver.nccl_call(comm, stream, Call { kind: Kind::Receive { from: index(peer)? }, send: 0, receive, count, dtype });
    fn ncclGetUniqueId(driver, id: Out<UniqueId>) = {
        id.set(UniqueId::new(driver.nccl_id()))?;
        Ok(None)
    };
}

#[unsafe(no_mangle)]
extern "C" fn ncclGroupStart() -> c_int {
    nccl_group_start();
    0
}

/// Returns version 2.28.0.
#[unsafe(no_mangle)]
extern "C" fn ncclGetVersion(version: Out<c_int>) -> c_int {
    version.set(22_800).map_or(Status::InvalidArgument as c_int, |()| 0)
}

#[unsafe(no_mangle)]
extern "C" fn ncclGetErrorString(code: c_int) -> *const c_char {
    let text: &CStr = match code {
        0 => c"no error",
        1 => c"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        2 => c"unhandled system error (run with NCCL_DEBUG=INFO for details)",
        3 => c"internal error - please report this issue to the NCCL developers",
        4 => c"invalid argument (run with NCCL_DEBUG=WARN for details)",
        5 => c"invalid usage (run with NCCL_DEBUG=WARN for details)",
        6 => c"remote process exited or there was a network error",
        _ => c"unknown result code",
    };
    text.as_ptr()
}

/// Returns the text of this thread's last failure, which is valid until the next.
#[unsafe(no_mangle)]
extern "C" fn ncclGetLastError(_comm: Handle) -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}
