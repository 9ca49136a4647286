//! A step's report on its way to the host: the scale after it, and what its passes found.

use crate::{
    Cuda, CudaError, Error, Found, Uncapturable,
    capture::Sent,
    faults::Noted,
    launch::structs::{FaultBits, FoundBits, ScaleBits},
    memory::{Buffer, Pinned},
};
use binade_core::Finding;
use binade_gpu::parse_report;
use binade_grad_scaler::ScaleState;
use std::sync::Arc;

/// A copy that was started when the scale was updated, so that whoever asks later waits for no later step.
#[derive(Debug)]
pub(super) struct Report {
    pinned: Sent,
    /// Of the findings, in order.
    stamps: Vec<u64>,
    /// Of each finding, which of a window's gradients are there, where only the device knows.
    words: Vec<Option<Sent>>,
    /// How many replays there were before it.
    replays: u64,
}

/// What had been before an update.
#[derive(Clone, Copy, Debug)]
pub(super) struct Since {
    /// Bad indices that had been reported.
    pub(super) reported: u64,
    pub(super) replays: u64,
}

/// Bytes of a report with so many findings; the record of bad indices stands at its end.
pub(super) fn bytes(findings: usize) -> usize {
    size_of::<ScaleBits>() + findings * size_of::<FoundBits>() + size_of::<FaultBits>()
}

impl Report {
    /// Starts to copy what `update` has written.
    pub(super) fn send(
        cuda: &Cuda,
        from: Buffer,
        found: &[&Found],
        since: Since,
    ) -> Result<Self, Error> {
        let stamps = found.iter().map(|found| found.stamp()).collect();
        let words = send_words(cuda, found)?;
        // Last, so that all of it is there when this is.
        let pinned = cuda.send_each(&Arc::new(from), Some(since.reported))?;
        if !pinned.is_later() {
            cuda.inner.counters.report();
        }
        Ok(Self { pinned, stamps, words, replays: since.replays })
    }

    /// The same for good, all in one: of a captured step, what its latest replay has sent.
    pub(super) fn frozen(self: &Arc<Self>) -> Arc<Self> {
        // All of one replay: another thread may be at the next.
        let Some(copies) = self.pinned.copies() else { return self.clone() };
        let frozen = |words: &Option<Sent>| words.as_ref().map(|words| words.frozen(&copies));
        let (pinned, words) =
            (self.pinned.frozen(&copies), self.words.iter().map(frozen).collect());
        Arc::new(Self { pinned, stamps: self.stamps.clone(), words, replays: self.replays })
    }

    /// Whether the copy is there.
    pub(super) fn has_come(&self, cuda: &Cuda) -> Result<bool, Error> {
        cuda.reads("poll")?;
        cuda.has_come(&*pinned(&self.pinned)?)
    }

    /// Where each of `found` is in it, if all are. What a scale is, asked for alone, it does not know where a step has been
    /// replayed since.
    pub(super) fn places(&self, cuda: &Cuda, found: &[&Found]) -> Option<Vec<usize>> {
        if found.is_empty() && (self.pinned.is_later() || self.replays != cuda.ledger().replays) {
            return None;
        }
        let place = |found: &&Found| self.stamps.iter().position(|stamp| *stamp == found.stamp());
        found.iter().map(place).collect()
    }

    /// What it says of those at `places`; waits until it is there.
    pub(super) fn read(
        &self,
        cuda: &Cuda,
        found: &[&Found],
        places: &[usize],
    ) -> Result<(Vec<Finding>, ScaleState), Error> {
        cuda.reads("resolve")?;
        let pinned = pinned(&self.pinned)?;
        let report = cuda.receive(&pinned)?;
        if let Some((_, fault)) = report.split_last_chunk::<{ size_of::<FaultBits>() }>() {
            let copy = bytemuck::pod_read_unaligned(fault);
            cuda.report_fault(&Noted { copy, reported: pinned.reported })?;
        }
        parse_report(cuda, &report, found, places, &received_words(cuda, &self.words, places)?)
    }
}

/// Of the latest replay where a captured step has sent it.
fn pinned(sent: &Sent) -> Result<Arc<Pinned>, Error> {
    let unplayed =
        || Error::Driver(CudaError::Capture { operation: "resolve", why: Uncapturable::Unplayed });
    sent.pinned().ok_or_else(unplayed)
}

/// Starts to copy the words that [`Found::words`] names, where there are any.
pub(super) fn send_words(cuda: &Cuda, found: &[&Found]) -> Result<Vec<Option<Sent>>, Error> {
    let send = |found: &&Found| found.words().map(|words| cuda.send_each(words, None)).transpose();
    found.iter().map(send).collect()
}

/// Those at `places`, once something has been received that was sent after them.
pub(super) fn received_words(
    cuda: &Cuda,
    sent: &[Option<Sent>],
    places: &[usize],
) -> Result<Vec<Vec<u8>>, Error> {
    let words = |place: &usize| match sent.get(*place) {
        Some(Some(words)) => cuda.received(&*pinned(words)?),
        _ => Ok(Vec::new()),
    };
    places.iter().map(words).collect()
}
