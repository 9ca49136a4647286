//! From the host to the device, and back.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{Copy, Ticket},
    memory::{Buffer, Staging, Taker, is_alone},
};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_ops::{Download, Shaped, Upload, shape::element_count};
use std::{
    ops::Range,
    sync::{Arc, Once, OnceLock},
};
use wgpu::{BufferAsyncError, BufferDescriptor, BufferUsages, PollType, SubmissionIndex};

/// Bytes on their way to the host.
#[derive(Debug)]
pub(crate) struct Sent {
    staging: Staging,
    /// Those that are meant, in what was copied.
    meant: Range<usize>,
    ticket: Ticket,
    /// Set once the host may read them.
    answer: Arc<OnceLock<Result<(), BufferAsyncError>>>,
    /// Whether the host has asked for them.
    asked: Once,
}

impl Wgpu {
    /// A tensor from the little-endian bytes of its elements.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where they are not as many as `shape` says.
    pub fn from_bits(&self, bytes: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        fits("bytes", bytes.len(), shape, dtype.bytes())?;
        Ok(Tensor::filling(self.buffer_of(bytes)?, dtype, shape))
    }

    /// The little-endian bytes of a tensor's elements, in row-major order. Waits for the device.
    ///
    /// # Errors
    ///
    /// When the device fails; [`Error::Index`] where an operation met an index that points nowhere.
    pub fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>, Error> {
        self.has_made(tensor.buffer())?;
        if tensor.is_empty() {
            self.inner.health.check()?;
            return Ok(Vec::new());
        }
        let sent = self.send(tensor.buffer(), tensor.range())?;
        let noted = self.send_faults()?;
        self.ask(&sent)?;
        self.report_fault(noted.as_ref())?;
        self.receive(&sent)
    }

    /// A tensor whose elements are unset.
    pub(crate) fn unset(&self, dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        Ok(Tensor::filling(self.buffer(element_count(shape) * dtype.bytes())?, dtype, shape))
    }

    /// A buffer for shaders to write to, its contents unset.
    pub(crate) fn buffer(&self, bytes: usize) -> Result<Buffer, Error> {
        self.buffer_for(bytes, Taker::Batch)
    }

    /// A buffer with these contents, and zeros up to the next word.
    pub(crate) fn buffer_of(&self, bytes: &[u8]) -> Result<Buffer, Error> {
        let buffer = self.buffer_for(bytes.len(), Taker::Host)?;
        let whole = bytes.len() / 4 * 4;
        let (words, rest) = bytes.split_at(whole);
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        self.inner.counters.upload(bytes.len());
        self.scoped("upload", || {
            self.inner.queue.write_buffer(buffer.memory(), 0, words);
            if !rest.is_empty() {
                self.inner.queue.write_buffer(buffer.memory(), whole as u64, &last);
            }
        })?;
        Ok(buffer)
    }

    /// Writes over the beginning of a buffer of this crate's own, before the whole batch. Words alone.
    pub(crate) fn write(&self, buffer: &Buffer, words: &[u8]) -> Result<(), Error> {
        self.inner.counters.upload(words.len());
        self.scoped("upload", || self.inner.queue.write_buffer(buffer.memory(), 0, words))
    }

    fn buffer_for(&self, bytes: usize, taker: Taker) -> Result<Buffer, Error> {
        self.inner.health.check()?;
        let (pool, most) = (&self.inner.pool, self.inner.facts.most_buffer_bytes);
        let rounded = pool.rounded(bytes).ok_or(Error::TooLarge { bytes, most })?;
        let memory = match pool.take(rounded, taker) {
            Some(memory) => memory,
            None => pool.made(self.allocated(rounded)?),
        };
        Ok(Buffer::new(memory, bytes, pool.clone()))
    }

    /// A new buffer; what is idle is given back to the driver where there is no room for it.
    fn allocated(&self, bytes: usize) -> Result<wgpu::Buffer, Error> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        match self.create(bytes as u64, usage) {
            Err(Error::OutOfMemory { .. }) => {
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

    /// Puts a copy of these bytes in the batch; nobody waits.
    pub(crate) fn send(&self, from: &Buffer, bytes: Range<usize>) -> Result<Sent, Error> {
        // Copies begin and end at words.
        let begin = bytes.start / 4 * 4;
        let size = (bytes.end - begin).next_multiple_of(4) as u64;
        let staging = self.staging(size.next_power_of_two())?;
        let (to, from) = (staging.memory().clone(), from.memory().clone());
        let copy = Copy { from, at: begin as u64, to, to_at: 0, bytes: size };
        let ticket = self.put_copy(copy)?;
        let meant = bytes.start - begin..bytes.end - begin;
        Ok(Sent { staging, meant, ticket, answer: Arc::default(), asked: Once::new() })
    }

    /// Copies the first `bytes` of one buffer to a place in another; places and bytes are multiples of 4.
    pub(crate) fn copy(
        &self,
        from: &Buffer,
        to: &Buffer,
        to_at: usize,
        bytes: usize,
    ) -> Result<(), Error> {
        let (from, to) = (from.memory().clone(), to.memory().clone());
        let copy = Copy { from, at: 0, to, to_at: to_at as u64, bytes: bytes as u64 };
        self.put_copy(copy).map(drop)
    }

    /// Makes sure that nobody else sees what is written to a small buffer: copies it where it is shared.
    pub(crate) fn own<'b>(&self, buffer: &'b mut Arc<Buffer>) -> Result<&'b Buffer, Error> {
        self.has_made(buffer)?;
        if !is_alone(buffer) {
            let bytes = buffer.bytes().next_multiple_of(4);
            let own = self.buffer(buffer.bytes())?;
            self.copy(buffer, &own, 0, bytes)?;
            *buffer = Arc::new(own);
        }
        Ok(buffer)
    }

    /// A buffer of zeros.
    pub(crate) fn zeros(&self, bytes: usize) -> Result<Buffer, Error> {
        self.buffer_of(&vec![0; bytes])
    }

    fn staging(&self, bytes: u64) -> Result<Staging, Error> {
        if let Some(staging) = self.inner.reports.take(bytes) {
            return Ok(staging);
        }
        let memory = self.create(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?;
        Ok(Staging::new(memory, self.inner.reports.clone()))
    }

    /// Waits for them, and for nothing behind them.
    pub(crate) fn receive(&self, sent: &Sent) -> Result<Vec<u8>, Error> {
        self.ask(sent)?;
        if sent.answer.get().is_none() {
            self.wait(sent.ticket.get().cloned())?;
        }
        let failed = |cause: String| Error::Driver { call: "read", cause };
        match sent.answer.get() {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(failed(error.to_string())),
            None => return Err(failed("the copy has not come".into())),
        }
        let view = sent.staging.memory().slice(..).get_mapped_range();
        let view = view.map_err(|error| failed(error.to_string()))?;
        Ok(view.get(sent.meant.clone()).map(<[u8]>::to_vec).unwrap_or_default())
    }

    /// Whether they are there; nobody waits.
    pub(crate) fn has_come(&self, sent: &Sent) -> Result<bool, Error> {
        self.ask(sent)?;
        let _ = self.inner.device.poll(PollType::Poll);
        self.inner.health.check()?;
        Ok(sent.answer.get().is_some())
    }

    /// Has the copy sent off and asks, once, to be told when it is done: who asks for several waits once for all of a batch.
    pub(crate) fn ask(&self, sent: &Sent) -> Result<(), Error> {
        if sent.ticket.get().is_none() {
            self.submit()?;
        }
        let mut asked = Ok(());
        sent.asked.call_once(|| {
            let answer = sent.answer.clone();
            asked = self.scoped("read", || {
                sent.staging.map(move |result| {
                    answer.get_or_init(|| result);
                });
            });
        });
        asked
    }

    /// Waits for a batch that was sent off, or for the last one.
    pub(crate) fn wait(&self, until: Option<SubmissionIndex>) -> Result<(), Error> {
        self.inner.health.check()?;
        self.inner.counters.sync();
        let polled =
            self.inner.device.poll(PollType::Wait { submission_index: until, timeout: None });
        self.inner.health.check()?;
        let failed = |cause: String| Error::Driver { call: "wait", cause };
        polled.map(drop).map_err(|error| failed(error.to_string()))
    }
}

pub(crate) fn fits(
    what: &'static str,
    found: usize,
    shape: &[usize],
    each: usize,
) -> Result<(), Error> {
    let expected = element_count(shape) * each;
    if found == expected {
        return Ok(());
    }
    Err(Error::Length { what, found, shape: shape.to_vec(), expected })
}

impl Upload for Wgpu {
    fn upload(&self, values: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        fits("elements", values.len(), shape, 1)?;
        let wide = self.from_bits(bytemuck::cast_slice(values), DType::F32, shape)?;
        if dtype == DType::F32 { Ok(wide) } else { self.cast(&wide, dtype) }
    }

    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Tensor, Error> {
        fits("elements", values.len(), shape, 1)?;
        self.from_bits(bytemuck::cast_slice(values), DType::I64, shape)
    }
}

impl Download for Wgpu {
    fn download(&self, tensor: &Tensor) -> Result<Vec<f32>, Error> {
        let wide = self.cast(tensor, DType::F32)?;
        let bytes = self.to_bits(&wide)?;
        let (elements, _) = bytes.as_chunks();
        Ok(elements.iter().map(|bits| f32::from_le_bytes(*bits)).collect())
    }
}

impl Shaped for Wgpu {
    fn shape(&self, tensor: &Tensor) -> Vec<usize> {
        tensor.shape().to_vec()
    }
}
