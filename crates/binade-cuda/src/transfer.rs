//! Device memory and what is copied into it and out of it.

use crate::{
    Cuda, Error,
    faults::Noted,
    launch,
    memory::{Buffer, Memory, Pinned, Pool, Ring},
};
use bytemuck::Pod;
use cudarc::driver::{CudaSlice, DriverError, sys::CUresult};
use std::{ops::Range, sync::Arc};

/// The most that is staged in pinned memory, which is kept; more is copied as the driver does it, while the host waits.
const STAGED: usize = 1 << 20;

impl Cuda {
    /// A buffer, its contents unset.
    pub(crate) fn buffer(&self, bytes: usize) -> Result<Buffer, Error> {
        self.alive()?;
        let rounded = Pool::rounded(bytes);
        let (stream, pool) = (&self.inner.stream, &self.inner.pool);
        let memory = match pool.take(rounded) {
            Some(memory) => memory,
            None => Memory::new(self.allocate(rounded)?, stream),
        };
        Ok(Buffer::new(memory, bytes, pool.clone()))
    }

    fn allocate(&self, bytes: usize) -> Result<CudaSlice<u8>, Error> {
        let stream = &self.inner.stream;
        match launch::allocate(stream, bytes) {
            Err(error) if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                // What the pool keeps is given back only when the stream comes to it.
                self.trim();
                self.synchronize()?;
                let again = launch::allocate(stream, bytes);
                again.map_err(|_| out_of_memory(bytes, stream.context().mem_get_info()))
            }
            other => self.check("allocate", other),
        }
    }

    /// A buffer of zeros.
    pub(crate) fn zeros(&self, bytes: usize) -> Result<Buffer, Error> {
        let mut buffer = self.buffer(bytes)?;
        if let (1.., Some(mut view)) = (bytes, buffer.view_mut()) {
            self.check("memset", self.inner.stream.memset_zeros(&mut view))?;
        }
        Ok(buffer)
    }

    /// A buffer with these contents.
    pub(crate) fn buffer_of(&self, bytes: &[u8]) -> Result<Buffer, Error> {
        let mut buffer = self.buffer(bytes.len())?;
        match bytes.len() {
            0 => {}
            1..=STAGED => self.stage(bytes, &mut buffer)?,
            _ => {
                let Some(mut view) = buffer.view_mut() else { return Ok(buffer) };
                self.check("upload", self.inner.stream.memcpy_htod(bytes, &mut view))?;
            }
        }
        Ok(buffer)
    }

    /// Copies by way of pinned memory: the host goes on before it is there.
    fn stage(&self, bytes: &[u8], buffer: &mut Buffer) -> Result<(), Error> {
        let stream = &self.inner.stream;
        let mut pinned = self.pinned(&self.inner.staging, bytes.len())?;
        self.check("upload", launch::send_to(stream, bytes, &mut pinned, buffer))
    }

    /// A copy of these bytes of a buffer.
    pub(crate) fn copy(&self, from: &Buffer, bytes: Range<usize>) -> Result<Buffer, Error> {
        self.has_made(from)?;
        let mut to = self.buffer(bytes.len())?;
        if let (1.., Some(from), Some(mut to)) = (bytes.len(), from.view(bytes), to.view_mut()) {
            self.check("copy", self.inner.stream.memcpy_dtod(&from, &mut to))?;
        }
        Ok(to)
    }

    /// A buffer of `bytes`, at least as many as `from` has, which begins as it does and ends in zeros.
    pub(crate) fn grown(&self, from: &Buffer, bytes: usize) -> Result<Buffer, Error> {
        self.has_made(from)?;
        let mut to = self.zeros(bytes)?;
        if let (1.., Some(from), Some(mut to)) =
            (from.bytes(), from.view(0..from.bytes()), to.view_mut())
        {
            self.check("copy", self.inner.stream.memcpy_dtod(&from, &mut to))?;
        }
        Ok(to)
    }

    /// The buffer itself if nobody else has it, else a copy to write to: what others read stays.
    pub(crate) fn own<'a>(&self, shared: &'a mut Arc<Buffer>) -> Result<&'a mut Buffer, Error> {
        self.has_made(shared)?;
        if Arc::get_mut(shared).is_none() {
            *shared = Arc::new(self.copy(shared, 0..shared.bytes())?);
        }
        let cause = "a buffer that was just made is shared".to_owned();
        Arc::get_mut(shared).ok_or(Error::Driver { call: "copy", cause })
    }

    /// A table with these contents, uploaded unless it is there.
    pub(crate) fn table<Row: Pod>(&self, rows: &[Row]) -> Result<Arc<Buffer>, Error> {
        let bytes: &[u8] = bytemuck::cast_slice(rows);
        if let Some(buffer) = self.inner.tables.find(bytes) {
            return Ok(buffer);
        }
        let buffer = Arc::new(self.buffer_of(bytes)?);
        self.inner.counters.table(bytes.len());
        self.inner.tables.keep(bytes, buffer.clone());
        Ok(buffer)
    }

    /// Starts to copy a buffer to the host, and goes on.
    pub(crate) fn send(&self, from: &Buffer) -> Result<Pinned, Error> {
        self.has_made(from)?;
        let mut pinned = self.pinned(&self.inner.reports, from.bytes())?;
        self.check("report", launch::send_from(&self.inner.stream, from, &mut pinned))?;
        Ok(pinned)
    }

    /// What was sent: waits until it is there.
    pub(crate) fn receive(&self, pinned: &Pinned) -> Result<Vec<u8>, Error> {
        self.alive()?;
        self.inner.counters.sync();
        self.received(pinned)
    }

    /// The same of what was sent before something that has been received: nothing is left to wait for.
    pub(crate) fn received(&self, pinned: &Pinned) -> Result<Vec<u8>, Error> {
        self.check("wait", launch::received(pinned))
    }

    /// Whether what was sent is there.
    pub(crate) fn has_come(&self, pinned: &Pinned) -> Result<bool, Error> {
        self.alive()?;
        self.bind()?;
        self.check("poll", pinned.done.try_is_complete())
    }

    /// The contents of a buffer: waits for them.
    pub(crate) fn read(&self, from: &Buffer) -> Result<Vec<u8>, Error> {
        self.read_part(from, 0..from.bytes())
    }

    /// These bytes of a buffer: waits for them.
    pub(crate) fn read_part(&self, from: &Buffer, bytes: Range<usize>) -> Result<Vec<u8>, Error> {
        self.alive()?;
        self.has_made(from)?;
        let some = !bytes.is_empty();
        let Some(view) = from.view(bytes).filter(|_| some) else { return Ok(Vec::new()) };
        let bytes = self.check("download", self.inner.stream.clone_dtoh(&view))?;
        let fault = self.noted(|record| self.clone_of(record))?;
        self.synchronize()?;
        if let Some(Noted { copy, reported }) = fault {
            self.report_fault(&Noted { copy: bytemuck::pod_read_unaligned(&copy), reported })?;
        }
        Ok(bytes)
    }

    /// A copy of a buffer, there once the device has been waited for.
    fn clone_of(&self, from: &Buffer) -> Result<Vec<u8>, Error> {
        let Some(view) = from.view(0..from.bytes()) else { return Ok(Vec::new()) };
        self.check("download", self.inner.stream.clone_dtoh(&view))
    }

    /// Makes the context this thread's: cudarc does it wherever it enqueues, and not where it asks for an event.
    fn bind(&self) -> Result<(), Error> {
        self.check("bind", self.inner.stream.context().bind_to_thread())
    }

    fn pinned(&self, ring: &Arc<Ring>, bytes: usize) -> Result<Pinned, Error> {
        self.alive()?;
        self.bind()?;
        if let Some(pinned) = ring.take(bytes) {
            return Ok(pinned);
        }
        let context = self.inner.stream.context();
        let host = launch::allocate_pinned(context, bytes.max(64).next_power_of_two());
        let host = self.check("allocate pinned memory", host)?;
        let done = self.check("event", context.new_event(None))?;
        Ok(Pinned::new(host, done, ring.clone()))
    }
}

fn out_of_memory(bytes: usize, room: Result<(usize, usize), DriverError>) -> Error {
    let (free, total) = room.unwrap_or_default();
    Error::OutOfMemory { bytes, free, total }
}
