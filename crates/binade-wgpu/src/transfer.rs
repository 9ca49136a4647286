//! Creation of buffers, uploads, and copies on the device.

use crate::{
    Error, Wgpu, WgpuError,
    dispatch::Copy,
    memory::{Allocation, Buffer},
};
use wgpu::{BufferDescriptor, BufferUsages};

impl Wgpu {
    /// Writes over the beginning of a buffer of this crate's own, before the whole batch. Words alone.
    pub(crate) fn write(&self, buffer: &Buffer, words: &[u8]) -> Result<(), Error> {
        self.inner.counters.uploaded_bytes.add(words.len());
        self.scoped("upload", || self.inner.queue.write_buffer(&buffer.memory().buffer, 0, words))
    }

    pub(crate) fn buffer_for(
        &self,
        bytes: usize,
        may_take: impl Fn(&Allocation) -> bool,
    ) -> Result<Buffer, Error> {
        self.inner.health.check()?;
        let (pool, rounded) = (&self.inner.pool, self.rounded(bytes)?);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let memory = if let Some(memory) = pool.take(rounded, may_take) {
            memory
        } else {
            let memory = Allocation::new(self.allocated(rounded, usage)?);
            pool.count(rounded);
            memory
        };
        Ok(Buffer::new(memory, bytes, pool.clone()))
    }

    /// Returns the size of the buffer for `bytes` bytes.
    pub(crate) fn rounded(&self, bytes: usize) -> Result<usize, Error> {
        let most = self.inner.facts.most_buffer_bytes;
        self.inner.pool.rounded(bytes).ok_or_else(|| WgpuError::TooLarge { bytes, most }.into())
    }

    /// Returns a new buffer. If memory is full, idle memory is first returned to the driver.
    pub(crate) fn allocated(
        &self,
        bytes: usize,
        usage: BufferUsages,
    ) -> Result<wgpu::Buffer, Error> {
        match self.create(bytes as u64, usage) {
            Err(Error::Driver(WgpuError::OutOfMemory { .. })) => {
                self.synchronize()?;
                self.trim();
                self.wait(None)?;
                self.create(bytes as u64, usage)
            }
            other => other,
        }
    }

    fn create(&self, size: u64, usage: BufferUsages) -> Result<wgpu::Buffer, Error> {
        let descriptor = BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        self.scoped("allocate", || self.inner.device.create_buffer(&descriptor))
    }

    /// Copies the first `bytes` of one buffer to a place in another; places and bytes are multiples of 4.
    pub(crate) fn copy_to(
        &self,
        from: &Buffer,
        to: &Buffer,
        to_at: usize,
        bytes: usize,
    ) -> Result<(), Error> {
        let (from, to) = (from.memory().buffer.clone(), to.memory().buffer.clone());
        let copy = Copy { from, at: 0, to, to_at: to_at as u64, bytes: bytes as u64 };
        self.put_copy(copy).map(drop)
    }
}
