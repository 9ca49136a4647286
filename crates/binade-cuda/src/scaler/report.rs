//! Copy of a step's report to the host: the scale after the step, its found-inf results, and the readers of that scale.

use crate::{
    CaptureError, Cuda, Error, Found,
    capture::Recorder,
    faults::FaultCopy,
    launch::structs::{FaultBits, FoundBits, ScaleBits},
    memory::{Buffer, HostCopy, Pinned},
};
use binade_gpu::Reported;
use std::sync::Arc;

/// Copy of a step's report, started when the scale was updated, so that a later read waits for no later step.
#[derive(Debug)]
pub struct Report {
    pinned: HostCopy,
    /// Stamps of the findings, in order.
    stamps: Vec<u64>,
    /// For each found-inf result, presence flags of a window's gradients, if only the device knows them.
    words: Vec<Option<HostCopy>>,
    /// Number of replays before the report.
    replays: u64,
}

/// Counts before an update.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportBaseline {
    /// Bad indices that had been reported.
    pub(super) reported: u64,
    pub(super) replays: u64,
}

/// Returns the bytes of a report with this many found-inf results; the record of bad indices is at its end.
pub(super) fn bytes(findings: usize) -> usize {
    size_of::<ScaleBits>() + findings * size_of::<FoundBits>() + size_of::<FaultBits>()
}

impl Report {
    /// Starts to copy the output of `update`.
    pub(super) fn send(
        cuda: &Cuda,
        from: Buffer,
        found: &[&Found],
        since: ReportBaseline,
    ) -> Result<Self, Error> {
        let stamps = found.iter().map(|found| found.stamp).collect();
        let words = send_words(cuda, found)?;
        // Last, so that all of it is there when this is.
        let pinned = cuda.send_each(&Arc::new(from), Some(since.reported))?;
        if !pinned.is_later() {
            cuda.inner.counters.reports.add(1);
        }
        Ok(Self { pinned, stamps, words, replays: since.replays })
    }
}

impl binade_gpu::Report<Cuda> for Report {
    fn frozen(self: &Arc<Self>) -> Arc<Self> {
        // All of one replay: another thread may be at the next.
        let Some(copies) = self.pinned.copies() else { return self.clone() };
        let frozen = |words: &Option<HostCopy>| words.as_ref().map(|words| words.frozen(&copies));
        let (pinned, words) =
            (self.pinned.frozen(&copies), self.words.iter().map(frozen).collect());
        Arc::new(Self { pinned, stamps: self.stamps.clone(), words, replays: self.replays })
    }

    fn stamps(&self) -> &[u64] {
        &self.stamps
    }

    fn has_latest_scale(&self, cuda: &Cuda) -> bool {
        !self.pinned.is_later() && self.replays == cuda.inner.counters.replays.get()
    }

    fn has_come(&self, cuda: &Cuda) -> Result<bool, Error> {
        cuda.reads("poll")?;
        cuda.has_come(&*pinned(&self.pinned)?)
    }

    fn read(&self, cuda: &Cuda, places: &[usize]) -> Result<Reported, Error> {
        cuda.reads("resolve")?;
        let pinned = pinned(&self.pinned)?;
        let report = cuda.receive(&pinned)?;
        if let Some((_, fault)) = report.split_last_chunk::<{ size_of::<FaultBits>() }>() {
            let copy = bytemuck::pod_read_unaligned(fault);
            cuda.report_fault(&FaultCopy { copy, reported: pinned.reported })?;
        }
        Ok((report, received_words(cuda, &self.words, places)?))
    }

    fn gather(cuda: &Cuda, found: &[&Found], scale: &Buffer) -> Result<Reported, Error> {
        cuda.reads("resolve")?;
        let words = send_words(cuda, found)?;
        let fault = cuda.noted(|record| cuda.send(record))?;
        let sent = found.iter().map(|found| cuda.send(&found.bits));
        let sent = sent.collect::<Result<Vec<_>, Error>>()?;
        // Last, so that all of it is there when this is.
        let mut all = cuda.receive(&cuda.send(scale)?)?;
        if let Some(FaultCopy { copy, reported }) = fault {
            let copy = bytemuck::pod_read_unaligned(&cuda.received(&copy)?);
            cuda.report_fault(&FaultCopy { copy, reported })?;
        }
        for finding in &sent {
            all.extend(cuda.received(finding)?);
        }
        let places: Vec<usize> = (0..found.len()).collect();
        Ok((all, received_words(cuda, &words, &places)?))
    }
}

/// Returns the copy's pinned memory: that of the latest replay if a captured step has sent it.
fn pinned(sent: &HostCopy) -> Result<Arc<Pinned>, Error> {
    let unplayed = || CaptureError::Unplayed.of("resolve");
    sent.pinned().ok_or_else(unplayed)
}

/// Starts to copy the words that [`Found::words`] names, where there are any.
fn send_words(cuda: &Cuda, found: &[&Found]) -> Result<Vec<Option<HostCopy>>, Error> {
    let send = |found: &&Found| found.words().map(|words| cuda.send_each(words, None)).transpose();
    found.iter().map(send).collect()
}

/// Returns the words at `places`, once something has been received that was sent after them.
fn received_words(
    cuda: &Cuda,
    sent: &[Option<HostCopy>],
    places: &[usize],
) -> Result<Vec<Vec<u8>>, Error> {
    let words = |place: &usize| match sent.get(*place) {
        Some(Some(words)) => cuda.received(&*pinned(words)?),
        _ => Ok(Vec::new()),
    };
    places.iter().map(words).collect()
}

/// Readers of a scale: a change is made in place unless one is alive.
#[derive(Debug)]
pub struct Readers {
    /// Shared with clones that keep the value they read.
    pub(super) shared: Arc<()>,
    /// True of a clone of a captured run's scale.
    is_replayed: bool,
    /// `None` in clones. Tells a captured step if the scale that it updates still has an owner.
    pub(super) original: Option<Arc<()>>,
}

impl Default for Readers {
    fn default() -> Self {
        Self { shared: Arc::default(), is_replayed: false, original: Some(Arc::default()) }
    }
}

impl binade_gpu::Readers<Recorder> for Readers {
    /// A clone made within a captured run, or of such a clone, is updated by each replay, and does not prevent other updates.
    fn of_clone(&self, recorder: &Recorder) -> Self {
        let is_replayed = recorder.running() == Some(true) || self.is_replayed;
        let shared = if is_replayed { Arc::default() } else { self.shared.clone() };
        Self { shared, is_replayed, original: None }
    }
}
