//! Asynchronous copies to the host: put in the batch now, and waited for at the first read.

use crate::{
    Error, Wgpu, WgpuError,
    dispatch::{Copy, Ticket},
    memory::{Buffer, Staging},
};
use std::{
    ops::Range,
    sync::{Arc, Once, OnceLock},
};
use wgpu::{BufferAsyncError, BufferUsages, PollType, SubmissionIndex};

/// Bytes in transfer to the host.
#[derive(Debug)]
pub(crate) struct Readback {
    staging: Staging,
    /// The range of the bytes asked for, in the copy.
    meant: Range<usize>,
    ticket: Ticket,
    /// Set once the host may read them.
    answer: Arc<OnceLock<Result<(), BufferAsyncError>>>,
    /// Done once the host has asked for them.
    asked: Once,
}

impl Wgpu {
    /// Puts a copy of these bytes in the batch, without waiting.
    pub(crate) fn send(&self, from: &Buffer, bytes: Range<usize>) -> Result<Readback, Error> {
        // Copies begin and end at words.
        let begin = bytes.start / 4 * 4;
        let size = (bytes.end - begin).next_multiple_of(4);
        let staging = self.staging(self.rounded(size)?)?;
        let (to, from) = (staging.memory().clone(), from.memory().buffer.clone());
        let copy = Copy { from, at: begin as u64, to, to_at: 0, bytes: size as u64 };
        let ticket = self.put_copy(copy)?;
        let meant = bytes.start - begin..bytes.end - begin;
        Ok(Readback { staging, meant, ticket, answer: Arc::default(), asked: Once::new() })
    }

    fn staging(&self, bytes: usize) -> Result<Staging, Error> {
        if let Some(staging) = self.inner.reports.take(bytes as u64) {
            return Ok(staging);
        }
        let memory = self.allocated(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?;
        Ok(Staging::new(memory, self.inner.reports.clone()))
    }

    /// Waits for the bytes, but not for later work.
    pub(crate) fn receive(&self, sent: &Readback) -> Result<Vec<u8>, Error> {
        self.ask(sent)?;
        if sent.answer.get().is_none() {
            self.wait(sent.ticket.get().cloned())?;
        }
        let failed = |cause: String| Error::Driver(WgpuError::Call { call: "read", cause });
        match sent.answer.get() {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(failed(error.to_string())),
            None => return Err(failed("the copy has not come".into())),
        }
        let view = sent.staging.memory().slice(..).get_mapped_range();
        let view = view.map_err(|error| failed(error.to_string()))?;
        Ok(view.get(sent.meant.clone()).map(<[u8]>::to_vec).unwrap_or_default())
    }

    /// Returns true if the bytes have arrived, without waiting.
    pub(crate) fn has_come(&self, sent: &Readback) -> Result<bool, Error> {
        self.ask(sent)?;
        let _ = self.inner.device.poll(PollType::Poll);
        self.inner.health.check()?;
        Ok(sent.answer.get().is_some())
    }

    /// Submits the copy and requests, once, a notice of its completion. A caller with several copies of a batch waits only once.
    pub(crate) fn ask(&self, sent: &Readback) -> Result<(), Error> {
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

    /// Waits for a submitted batch, or for the last one.
    pub(crate) fn wait(&self, until: Option<SubmissionIndex>) -> Result<(), Error> {
        self.inner.health.check()?;
        self.inner.counters.syncs.add(1);
        let polled =
            self.inner.device.poll(PollType::Wait { submission_index: until, timeout: None });
        self.inner.health.check()?;
        let failed = |cause: String| Error::Driver(WgpuError::Call { call: "wait", cause });
        polled.map(drop).map_err(|error| failed(error.to_string()))
    }
}
