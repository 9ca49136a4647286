//! Device memory: buffers of a pool, tables of addresses and constants, cached by their contents, and small shared buffers.

mod host_copy;
mod lender;

pub(crate) use host_copy::{Copies, HostCopy, LatestCopies, Pinned, ReplayCopy, Ring};
pub(crate) use lender::Lender;

use crate::{
    Cuda, Error,
    adopt::raw,
    capture::{ArenaSlot, Recorder},
    kernels::SEEN,
};
use binade_gpu::{Addressed, Driver, OwedBits, lock, made_once};
use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr};
use std::{
    collections::VecDeque,
    mem::ManuallyDrop,
    ops::Range,
    sync::{Arc, Mutex},
};

/// A buffer of the pool.
pub(crate) type Buffer = binade_gpu::Buffer<Memory>;
/// Buffers that are not in use.
pub(crate) type Pool = binade_gpu::Pool<Memory>;

/// Device memory and its address: to ask cudarc each time would put an event in the stream each time.
#[derive(Debug)]
pub struct Memory {
    /// Present until it is dropped.
    slice: Option<CudaSlice<u8>>,
    pub(crate) address: u64,
    bytes: usize,
    /// The capture that it was made for.
    pub(crate) home: Option<ArenaSlot>,
    /// Owner of adopted memory. Adopted memory goes to no pool.
    lender: Option<Lender>,
}

impl Memory {
    pub(crate) fn new(slice: CudaSlice<u8>, stream: &CudaStream) -> Self {
        let (address, _) = slice.device_ptr(stream);
        let bytes = slice.len();
        Self { slice: Some(slice), address, bytes, home: None, lender: None }
    }

    /// Returns memory that `lender` keeps alive.
    fn lent(address: u64, bytes: usize, lender: Lender) -> Self {
        // `drop` leaks the slice.
        let slice = Some(ManuallyDrop::into_inner(raw::bytes_of(&lender, address, bytes)));
        Self { slice, address, bytes, home: None, lender: Some(lender) }
    }

    /// Returns the owner of adopted memory.
    pub(crate) fn lender(&self) -> Option<&Lender> {
        self.lender.as_ref()
    }
}

impl Drop for Memory {
    /// Gives adopted memory back to its owner; other memory is freed.
    fn drop(&mut self) {
        let Some(lender) = self.lender.take() else { return };
        let _ = self.slice.take().map(CudaSlice::leak);
        lender.gate.clone().give_back(lender);
    }
}

impl binade_gpu::Memory for Memory {
    /// Captures and captured steps, which have their own memory.
    type State = Recorder;

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn retire(self, recorder: &Recorder) -> Option<Self> {
        recorder.give(self).filter(|memory| memory.lender.is_none())
    }

    fn free(idle: impl Iterator<Item = Self>, recorder: &Recorder) {
        recorder.gate.bury(idle);
    }
}

impl Addressed for Memory {
    fn address(&self) -> u64 {
        self.address
    }
}

/// These bytes of a buffer; `None` where it has not as many.
pub(crate) fn view(buffer: &Buffer, bytes: Range<usize>) -> Option<CudaView<'_, u8>> {
    if bytes.end > buffer.bytes() {
        return None;
    }
    buffer.memory().slice.as_ref()?.try_slice(bytes)
}

/// All bytes of a buffer, to write to.
pub(crate) fn view_mut(buffer: &mut Buffer) -> Option<CudaViewMut<'_, u8>> {
    let bytes = buffer.bytes();
    buffer.memory_mut().slice.as_mut()?.try_slice_mut(..bytes)
}

/// Number of cached tables: enough for a few optimizers and windows that each alternate between a few sets.
const MOST: usize = 64;

/// Cache of tables by their contents: a set whose addresses have not changed finds its table there.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// Tables, the last used first.
    kept: Mutex<VecDeque<Table>>,
}

#[derive(Debug)]
struct Table {
    bytes: Vec<u8>,
    buffer: Arc<Buffer>,
}

impl Tables {
    /// Returns the table with these contents, if it is on the device.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<Arc<Buffer>> {
        let mut kept = lock(&self.kept);
        let place = kept.iter().position(|table| table.bytes == bytes)?;
        let table = kept.remove(place)?;
        let buffer = table.buffer.clone();
        kept.push_front(table);
        Some(buffer)
    }

    /// Keeps a table. The least recently used table without another holder is dropped. A capture's runs hold their tables, so that the next run finds
    /// them.
    pub(crate) fn keep(&self, bytes: &[u8], buffer: Arc<Buffer>) {
        let mut kept = lock(&self.kept);
        while kept.len() >= MOST
            && let Some(place) =
                kept.iter().rposition(|table| Arc::strong_count(&table.buffer) == 1)
        {
            kept.remove(place);
        }
        kept.push_front(Table { bytes: bytes.to_vec(), buffer });
    }

    pub(crate) fn clear(&self) {
        lock(&self.kept).clear();
    }
}

/// Small buffers that every step needs: a constant, and counters that are 0 between launches.
#[derive(Debug)]
pub(crate) struct SharedBuffers {
    /// Factors of gradients that have no pending factors.
    pub(crate) unit_factors: Arc<Buffer>,
    /// Blocks that are done.
    pub(crate) done: Buffer,
    /// The word that a `scale_update` of one launch begins with.
    pub(crate) seen: Buffer,
}

impl Cuda {
    /// Returns a buffer in memory that `lender` keeps alive.
    pub(crate) fn adopted_buffer(&self, address: u64, bytes: usize, lender: Lender) -> Buffer {
        Buffer::new(Memory::lent(address, bytes, lender), bytes, self.inner.pool.clone())
    }

    /// Returns the small buffers, which are made when the device is opened.
    pub(crate) fn shared_buffers(&self) -> Result<&SharedBuffers, Error> {
        made_once(&self.inner.shared_buffers, || {
            Ok(SharedBuffers {
                done: self.zeros(4)?,
                seen: self.zeros(SEEN)?,
                unit_factors: Arc::new(self.buffer_of(bytemuck::bytes_of(&OwedBits::NOTHING))?),
            })
        })
    }
}
