//! A step's report on its way to the host: the scale after it, and what its passes found.

use super::{Found, scale};
use crate::{
    Cuda, Error,
    faults::Noted,
    launch::structs::{FaultBits, FoundBits, ScaleBits},
    memory::{Buffer, Pinned},
};
use binade_core::Finding;
use binade_grad_scaler::ScaleState;

/// A copy that was started when the scale was updated, so that whoever asks later waits for no later step.
#[derive(Debug)]
pub(super) struct Report {
    pinned: Pinned,
    /// Of the findings, in order.
    stamps: Vec<u64>,
    /// Of each finding, which of a window's gradients are there, where only the device knows.
    words: Vec<Option<Pinned>>,
    /// How many bad indices had been reported before it was written.
    reported: u64,
}

/// Bytes of a report with so many findings; the record of bad indices stands at its end.
pub(super) fn bytes(findings: usize) -> usize {
    size_of::<ScaleBits>() + findings * size_of::<FoundBits>() + size_of::<FaultBits>()
}

impl Report {
    /// Starts to copy what `update` has written; `reported` bad indices had been before.
    pub(super) fn send(
        cuda: &Cuda,
        from: &Buffer,
        found: &[&Found],
        reported: u64,
    ) -> Result<Self, Error> {
        let stamps = found.iter().map(|found| found.stamp).collect();
        let words = send_words(cuda, found)?;
        // Last, so that all of it is there when this is.
        let pinned = cuda.send(from)?;
        cuda.inner.counters.report();
        Ok(Self { pinned, stamps, words, reported })
    }

    /// Whether the copy is there.
    pub(super) fn has_come(&self, cuda: &Cuda) -> Result<bool, Error> {
        cuda.has_come(&self.pinned)
    }

    /// Where each of `found` is in it, if all are.
    pub(super) fn places(&self, found: &[&Found]) -> Option<Vec<usize>> {
        let place = |found: &&Found| self.stamps.iter().position(|stamp| *stamp == found.stamp);
        found.iter().map(place).collect()
    }

    /// What it says of those at `places`; waits until it is there.
    pub(super) fn read(
        &self,
        cuda: &Cuda,
        found: &[&Found],
        places: &[usize],
    ) -> Result<(Vec<Finding>, ScaleState), Error> {
        let report = cuda.receive(&self.pinned)?;
        if let Some((_, fault)) = report.split_last_chunk::<{ size_of::<FaultBits>() }>() {
            let copy = bytemuck::pod_read_unaligned(fault);
            cuda.report_fault(&Noted { copy, reported: self.reported })?;
        }
        parse(cuda, &report, found, places, &received_words(cuda, &self.words, places)?)
    }
}

/// Starts to copy the words that [`Found::words`] names, where there are any.
pub(super) fn send_words(cuda: &Cuda, found: &[&Found]) -> Result<Vec<Option<Pinned>>, Error> {
    let send = |found: &&Found| found.words().map(|words| cuda.send(words)).transpose();
    found.iter().map(send).collect()
}

/// Those at `places`, once something has been received that was sent after them.
pub(super) fn received_words(
    cuda: &Cuda,
    sent: &[Option<Pinned>],
    places: &[usize],
) -> Result<Vec<Vec<u8>>, Error> {
    let words = |place: &usize| match sent.get(*place) {
        Some(Some(words)) => cuda.received(words),
        _ => Ok(Vec::new()),
    };
    places.iter().map(words).collect()
}

/// What a report says: the scale's bits first. `words` are each finding's, in the order of `found`.
pub(super) fn parse(
    cuda: &Cuda,
    report: &[u8],
    found: &[&Found],
    places: &[usize],
    words: &[Vec<u8>],
) -> Result<(Vec<Finding>, ScaleState), Error> {
    let (state, findings) = report.split_at(size_of::<ScaleBits>().min(report.len()));
    let state: ScaleBits = bytemuck::try_pod_read_unaligned(state).map_err(torn)?;
    let (findings, _) = findings.as_chunks::<{ size_of::<FoundBits>() }>();
    let finding = |((found, place), words): ((&&Found, &usize), &Vec<u8>)| {
        let bits =
            findings.get(*place).ok_or_else(|| torn(bytemuck::PodCastError::SizeMismatch))?;
        Ok(found.finding(cuda, &bytemuck::pod_read_unaligned(bits), words))
    };
    let findings =
        found.iter().zip(places).zip(words).map(finding).collect::<Result<_, Error>>()?;
    Ok((findings, scale::from_bits(&state)))
}

/// A report of another length than was asked for: a defect of this crate.
fn torn(error: bytemuck::PodCastError) -> Error {
    Error::Driver { call: "report", cause: error.to_string() }
}
