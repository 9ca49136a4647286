//! Device memory, and copies into it and out of it.

use crate::{
    AdoptError, CaptureError, Cuda, CudaError, Error, Tensor, launch,
    memory::{Buffer, HostCopy, Memory, Pinned, Ring, view, view_mut},
};
use binade_gpu::{Driver, check_length};
use bytemuck::Pod;
use cudarc::driver::{CudaSlice, CudaStream, DriverError, sys::CUresult};
use std::{ops::Range, sync::Arc};

/// Bytes of one copy by way of pinned memory. A piece of this size takes far longer on the bus than in the driver, and is copied while the host fills
/// the next.
const PIECE: usize = 4 << 20;

/// Limit in bytes of pinned memory for copies to the device in progress while the host continues.
const MOST_STAGED: usize = 256 << 20;

impl Cuda {
    /// The size of the allocation that holds `bytes`.
    pub(crate) fn rounded(&self, bytes: usize) -> Result<usize, Error> {
        let too_large = CudaError::TooLarge { what: "a buffer of bytes", sizes: vec![bytes] };
        Ok(self.inner.pool.rounded(bytes).ok_or(too_large)?)
    }

    pub(crate) fn made(&self, rounded: usize) -> Result<Memory, Error> {
        let memory = Memory::new(self.allocate(rounded)?, &self.inner.stream);
        self.inner.pool.count(rounded);
        Ok(memory)
    }

    /// Returns a buffer outside the memory of a capture's runs: a lasting buffer must not take the place of a run's buffer.
    pub(crate) fn lasting(&self, bytes: usize) -> Result<Buffer, Error> {
        self.check_alive()?;
        let (rounded, pool) = (self.rounded(bytes)?, &self.inner.pool);
        let memory = match pool.take(rounded, |_| true) {
            Some(memory) => memory,
            None => self.made(rounded)?,
        };
        Ok(Buffer::new(memory, bytes, pool.clone()))
    }

    fn allocate(&self, bytes: usize) -> Result<CudaSlice<u8>, Error> {
        let allocate = || self.with_stream("allocate", |stream| launch::allocate(stream, bytes));
        match allocate()? {
            Err(error) if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                // The pool's memory is returned only when the stream reaches that point.
                self.trim();
                self.synchronize()?;
                let room = || self.inner.stream.context().mem_get_info();
                allocate()?.map_err(|_| out_of_memory(bytes, room()))
            }
            other => self.check("allocate", other),
        }
    }

    /// A buffer with these contents, of no run of a capture.
    pub(crate) fn lasting_of(&self, bytes: &[u8]) -> Result<Buffer, Error> {
        self.inner.pool.state.refuse("upload", CaptureError::Upload { bytes: bytes.len() })?;
        let buffer = self.lasting(bytes.len())?;
        self.put(bytes, &buffer, 0)?;
        Ok(buffer)
    }

    /// Writes into a buffer, even a shared one, after earlier work of the stream. The bytes go through pinned memory, so the host continues before
    /// they arrive. It waits only if 256 MiB are in transfer, and [`syncs`](crate::DeviceCounters::syncs) counts the wait.
    pub(crate) fn put(&self, bytes: &[u8], to: &Buffer, offset: usize) -> Result<(), Error> {
        self.put_by(&self.inner.stream, bytes, to, offset)
    }

    /// Writes into a buffer as [`put`](Self::put) does, after earlier work of this stream.
    pub(crate) fn put_by(
        &self,
        stream: &CudaStream,
        bytes: &[u8],
        to: &Buffer,
        offset: usize,
    ) -> Result<(), Error> {
        let why = || CaptureError::Upload { bytes: bytes.len() };
        self.inner.pool.state.refuse("upload", why())?;
        self.check_owner(to)?;
        for (number, piece) in bytes.chunks(PIECE).enumerate() {
            let mut pinned = self.staging(piece.len())?;
            self.outside("upload", why(), |_| {
                launch::send_to(stream, piece, &mut pinned, to, offset + number * PIECE)
            })?;
        }
        Ok(())
    }

    /// Returns host memory for a copy to the device.
    fn staging(&self, bytes: usize) -> Result<Pinned, Error> {
        let ring = &self.inner.staging;
        if ring.holds() >= MOST_STAGED
            && let Some(event) = ring.pending(bytes)
        {
            self.bind()?;
            self.inner.counters.syncs.add(1);
            self.check("upload", event.synchronize())?;
        }
        self.pinned(ring, bytes)
    }

    /// A copy of these bytes of a buffer.
    pub(crate) fn copy_part(&self, from: &Buffer, bytes: Range<usize>) -> Result<Buffer, Error> {
        self.check_owner(from)?;
        let mut to = self.buffer(bytes.len())?;
        let (len, at) = (bytes.len(), from.address() + bytes.start as u64);
        let target = to.address();
        if let (1.., Some(from), Some(mut to)) = (len, view(from, bytes), view_mut(&mut to)) {
            let words = || vec![at, target, len as u64];
            self.enqueue("copy", words, |stream| stream.memcpy_dtod(&from, &mut to))?;
            self.inner.counters.copies.add(1);
        }
        Ok(to)
    }

    /// Copies the elements of a tensor into the memory of another, which has the same type and number of elements. As with
    /// [`write`](Self::write), clones, slices and captured steps see the new elements.
    ///
    /// # Errors
    ///
    /// [`AdoptError::DType`] where the types differ, [`Error::Length`] where the numbers of elements do, [`AdoptError::ReadOnly`] where
    /// `to` was adopted to be read, [`Error::Foreign`] for another handle's tensor; when the device fails.
    pub fn copy_into(&self, from: &Tensor, to: &Tensor) -> Result<(), Error> {
        [from, to].into_iter().try_for_each(|tensor| self.check_owner(tensor.buffer()))?;
        self.check_writable("copy", to.buffer())?;
        if from.dtype() != to.dtype() {
            let (found, asked) = (from.dtype(), to.dtype());
            return Err(AdoptError::DType { found, asked }.of("copy"));
        }
        check_length::<Self>("elements", from.len(), to.shape(), 1)?;
        if from.is_empty() {
            return Ok(());
        }
        let words = || vec![from.address(), to.address(), from.bytes() as u64];
        let copied = self.enqueue("copy", words, |stream| launch::copy(stream, from, to));
        // The write counts even if it fails, since some elements may have been written.
        to.buffer().count_write();
        copied?;
        self.inner.counters.copies.add(1);
        Ok(())
    }

    /// Refuses a write to memory that was adopted to be read.
    pub(crate) fn check_writable(&self, what: &'static str, to: &Buffer) -> Result<(), Error> {
        if self.is_writable(to) { Ok(()) } else { Err(AdoptError::ReadOnly.of(what)) }
    }

    /// A table with these contents, uploaded unless it is there.
    pub(crate) fn table<Row: Pod>(&self, rows: &[Row]) -> Result<Arc<Buffer>, Error> {
        let bytes: &[u8] = bytemuck::cast_slice(rows);
        let buffer = match self.inner.tables.find(bytes) {
            Some(buffer) => buffer,
            None => self.new_table(bytes)?,
        };
        self.inner.pool.state.table(&buffer, bytes);
        Ok(buffer)
    }

    fn new_table(&self, bytes: &[u8]) -> Result<Arc<Buffer>, Error> {
        let (recorder, bytes_len) = (&self.inner.pool.state, bytes.len());
        recorder.refuse("table", CaptureError::Table { bytes: bytes_len })?;
        let buffer = Arc::new(self.lasting_of(bytes)?);
        self.inner.counters.tables.add(1);
        self.inner.counters.table_bytes.add(bytes.len());
        self.inner.tables.keep(bytes, buffer.clone());
        Ok(buffer)
    }

    /// Starts to copy a buffer to the host, without waiting.
    pub(crate) fn send(&self, from: &Buffer) -> Result<Pinned, Error> {
        self.check_owner(from)?;
        self.reads("report")?;
        let mut pinned = self.pinned(&self.inner.reports, from.bytes())?;
        self.outside("report", CaptureError::Read, |stream| {
            launch::send_from(stream, from, &mut pinned)
        })?;
        Ok(pinned)
    }

    /// Starts a copy to the host of memory that only this step has written. In a captured step each replay starts the copy. A report's
    /// copy comes with the number of bad indices reported before.
    pub(crate) fn send_each(
        &self,
        from: &Arc<Buffer>,
        report: Option<u64>,
    ) -> Result<HostCopy, Error> {
        self.check_owner(from)?;
        let recorder = &self.inner.pool.state;
        // A run must allocate and free the same memory whether or not it is captured.
        recorder.hold(from.clone());
        if let Some(later) = recorder.replayed(|replay| replay.copy(from, report.is_some())) {
            return Ok(HostCopy::ReplayCopy(later));
        }
        let mut pinned = self.send(from)?;
        pinned.reported = report.unwrap_or_default();
        Ok(HostCopy::Now(Arc::new(pinned)))
    }

    /// Waits until a copy is there and returns it.
    pub(crate) fn receive(&self, pinned: &Pinned) -> Result<Vec<u8>, Error> {
        self.check_alive()?;
        self.reads("resolve")?;
        self.inner.counters.syncs.add(1);
        self.received(pinned)
    }

    /// Returns a copy that was sent before something that has been received: nothing is left to wait for.
    pub(crate) fn received(&self, pinned: &Pinned) -> Result<Vec<u8>, Error> {
        self.check("wait", launch::received(pinned))
    }

    /// Returns true if a copy is there.
    pub(crate) fn has_come(&self, pinned: &Pinned) -> Result<bool, Error> {
        self.check_alive()?;
        self.reads("poll")?;
        self.bind()?;
        self.check("poll", pinned.done.try_is_complete())
    }

    /// A copy of these bytes of a buffer, there once the device has been waited for.
    pub(crate) fn clone_of(&self, from: &Buffer, bytes: Range<usize>) -> Result<Vec<u8>, Error> {
        self.reads("download")?;
        let some = !bytes.is_empty();
        let Some(view) = view(from, bytes).filter(|_| some) else { return Ok(Vec::new()) };
        self.outside("download", CaptureError::Read, |stream| stream.clone_dtoh(&view))
    }

    /// Makes the context this thread's: cudarc does it wherever it enqueues, and not where it asks for an event.
    pub(crate) fn bind(&self) -> Result<(), Error> {
        self.check("bind", self.inner.stream.context().bind_to_thread())
    }

    /// Host memory for a copy of so many bytes.
    pub(crate) fn pinned(&self, ring: &Arc<Ring>, bytes: usize) -> Result<Pinned, Error> {
        self.check_alive()?;
        self.bind()?;
        if let Some(pinned) = ring.take(bytes) {
            return Ok(pinned);
        }
        let context = self.inner.stream.context();
        let host = launch::allocate_pinned(context, Ring::rounded(bytes));
        let host = self.check("allocate pinned memory", host)?;
        ring.count(host.len());
        let done = self.check("event", context.new_event(None))?;
        Ok(Pinned::new(host, done, ring.clone()))
    }
}

fn out_of_memory(bytes: usize, room: Result<(usize, usize), DriverError>) -> Error {
    let (free, total) = room.unwrap_or_default();
    Error::Driver(CudaError::OutOfMemory { bytes, free, total })
}
