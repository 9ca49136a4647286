//! Unsafe part of this crate, beside `library/lt.rs`: uninitialised device memory, and kernels, which get raw addresses.
//!
//! One argument holds for all kernels. Arguments are checked at every launch, by kind, against the parameters that the PTX declares. Addresses come
//! from buffers and tables that are borrowed for the call and that this handle has made (`Cuda::check_owner` refuses others), or from memory whose
//! owner such a buffer keeps (`adopt`). A buffer dropped while its kernel is still queued goes to the pool, and its next use comes later in the same
//! stream, on whatever thread. If a captured step has its address, it stays with that step. Every kernel runs in tests under an interpreter that
//! checks each access.
#![expect(unsafe_code, reason = "a launch")]

mod calls;
mod entry;
pub(crate) mod structs;

pub(crate) use calls::{
    allocate, allocate_pinned, begin_capture, copy, copy_from_peer, driver_version, elapsed_ms,
    end_capture, fill, is_default, loads, only_stream, received, send_from, send_to,
};
pub(crate) use entry::Entry;

use crate::{
    Error, Tensor,
    kernels::{GROUP, THREADS},
    memory::Buffer,
};
use binade_core::DType;
use cudarc::driver::{CudaStream, DriverError, result};
use std::ffi::c_void;

/// Kind of a kernel's parameter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Param {
    U32,
    /// Number, or the address of device memory.
    U64,
    F32,
    /// Structure by value, of this many bytes.
    Bytes(usize),
}

/// Argument of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg<'a> {
    Address(u64),
    U32(u32),
    /// Number of a launch among those that check indices: no two runs of a step have the same.
    Number(u32),
    U64(u64),
    F32(f32),
    Bytes(&'a [u8]),
}

impl Arg<'_> {
    fn param(&self) -> Param {
        match self {
            Self::U32(_) | Self::Number(_) => Param::U32,
            Self::Address(_) | Self::U64(_) => Param::U64,
            Self::F32(_) => Param::F32,
            Self::Bytes(bytes) => Param::Bytes(bytes.len()),
        }
    }
}

/// Lists arguments of a launch: addresses of tensors and buffers, extents in 64 bits, and other values unchanged.
macro_rules! args {
    ($($arg:expr),* $(,)?) => { [$($crate::launch::Arg::from($arg)),*] };
}

pub(crate) use args;

impl From<&Tensor> for Arg<'_> {
    fn from(tensor: &Tensor) -> Self {
        Self::Address(tensor.address())
    }
}

impl From<&Buffer> for Arg<'_> {
    fn from(buffer: &Buffer) -> Self {
        Self::Address(buffer.address())
    }
}

/// A missing value has the address 0.
impl<'a, T> From<Option<&T>> for Arg<'a>
where
    Arg<'a>: for<'t> From<&'t T>,
{
    fn from(value: Option<&T>) -> Self {
        value.map_or(Self::Address(0), Self::from)
    }
}

impl From<usize> for Arg<'_> {
    fn from(extent: usize) -> Self {
        Self::U64(extent as u64)
    }
}

/// An address inside a buffer, or a number.
impl From<u64> for Arg<'_> {
    fn from(value: u64) -> Self {
        Self::U64(value)
    }
}

impl From<u32> for Arg<'_> {
    fn from(value: u32) -> Self {
        Self::U32(value)
    }
}

impl From<f32> for Arg<'_> {
    fn from(value: f32) -> Self {
        Self::F32(value)
    }
}

/// Number of blocks, and threads of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
}

impl Grid {
    /// Returns a grid of one block of `threads`.
    pub(crate) fn one(threads: u32) -> Self {
        Self { blocks: 1, threads }
    }

    /// Returns a grid of `wanted` blocks of the usual size, at least one and at most [`MOST_BLOCKS`].
    pub(crate) fn of(wanted: usize) -> Self {
        let blocks = u32::try_from(wanted.clamp(1, MOST_BLOCKS)).unwrap_or(1);
        Self { blocks, threads: THREADS }
    }

    /// Returns a grid that strides over this many elements, a group for each thread at a time.
    pub(crate) fn elementwise(elements: usize) -> Self {
        Self::of(elements.div_ceil(GROUP).div_ceil(THREADS as usize))
    }
}

/// Number of blocks beyond which a grid strides: enough to fill any GPU several times over.
pub(crate) const MOST_BLOCKS: usize = 4096;

/// Returns the number that kernels know an element type by; `what` supports no other type.
pub(crate) fn code(what: &'static str, dtype: DType) -> Result<u32, Error> {
    match dtype {
        DType::BF16 => Ok(0),
        DType::F16 => Ok(1),
        DType::F32 => Ok(2),
        DType::E4M3 => Ok(3),
        DType::E5M2 => Ok(4),
        _ => Err(Error::Unsupported { what, dtype }),
    }
}

/// Argument as the driver reads it through a pointer: 8 bytes that hold the value, or the address of a structure.
type Word = [u8; 8];

impl Entry {
    /// Puts the kernel in the stream.
    ///
    /// # Panics
    ///
    /// If `args` do not match the kernel's parameters: a bug of this crate.
    pub(crate) fn launch(
        &self,
        stream: &CudaStream,
        grid: Grid,
        args: &[Arg<'_>],
    ) -> Result<(), DriverError> {
        let given = args.iter().map(Arg::param);
        assert!(given.eq(self.declared.params.iter().copied()), "{}: {args:?}", self.kernel);
        let mut words: Vec<Word> = args.iter().map(word).collect();
        let mut at: Vec<*mut c_void> = args
            .iter()
            .zip(&mut words)
            .map(|(arg, word)| match arg {
                Arg::Bytes(bytes) => bytes.as_ptr().cast_mut().cast(),
                _ => word.as_mut_ptr().cast(),
            })
            .collect();
        stream.context().bind_to_thread()?;
        // SAFETY: the function was loaded into this stream's context, which is bound to this thread. `at` has a pointer
        // for each parameter, asserted above by the list that the PTX declares. Each points to as many bytes as the
        // parameter takes. The driver only reads them, and has copied them before this returns. Addresses among them are
        // the caller's, who borrows their buffers: see the module's page.
        unsafe {
            result::launch_kernel(
                self.function.cu_function(),
                (grid.blocks, 1, 1),
                (grid.threads, 1, 1),
                self.shared,
                stream.cu_stream(),
                &mut at,
            )
        }
    }
}

/// Returns an argument's word: the value in its first bytes, or a structure's address.
fn word(arg: &Arg<'_>) -> Word {
    let mut word = [0; 8];
    match arg {
        Arg::Address(value) | Arg::U64(value) => word = value.to_ne_bytes(),
        Arg::U32(value) | Arg::Number(value) => word[..4].copy_from_slice(&value.to_ne_bytes()),
        Arg::F32(value) => word[..4].copy_from_slice(&value.to_ne_bytes()),
        Arg::Bytes(_) => {}
    }
    word
}
