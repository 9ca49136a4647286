//! Unsafe part of this crate, beside `library/lt.rs`: uninitialised device memory, and kernels, which do what they please with
//! the addresses they are given.
//!
//! One argument holds for all kernels. Arguments are checked at every launch, by kind, against the parameters that the PTX
//! declares. Addresses come from buffers and tables that are borrowed for the call and that this handle has made
//! (`Cuda::check_owner` refuses others). A buffer that is dropped while its kernel still waits goes to the pool, and its next user
//! comes later in the same stream, from whatever thread. If a captured step has its address, it stays with that step. Every
//! kernel runs in tests under an interpreter that checks each access.

mod driver;
mod entry;
pub(crate) mod structs;

pub(crate) use driver::{
    allocate, allocate_pinned, begin_capture, driver_version, end_capture, fill, is_default, loads,
    only_stream, received, send_from, send_pageable, send_peer, send_to,
};
pub(crate) use entry::Entry;

use crate::{Tensor, memory::Buffer};

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

/// Lists arguments of a launch: tensors and buffers by their addresses, extents in 64 bits, and the rest as it is.
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
}
