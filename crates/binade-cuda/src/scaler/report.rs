//! A step's report on its way to the host: the scale after it, and what its passes found.

use super::{Found, scale};
use crate::{
    Cuda, Error,
    launch::structs::{FoundBits, ScaleBits},
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
}

/// Bytes of a report with so many findings.
pub(super) fn bytes(findings: usize) -> usize {
    size_of::<ScaleBits>() + findings * size_of::<FoundBits>()
}

impl Report {
    /// Starts to copy what `update` has written.
    pub(super) fn send(cuda: &Cuda, from: &Buffer, found: &[&Found]) -> Result<Self, Error> {
        let stamps = found.iter().map(|found| found.stamp).collect();
        let words =
            found.iter().map(|found| found.words().map(|words| cuda.send(words)).transpose());
        let words = words.collect::<Result<_, _>>()?;
        // Last, so that all of it is there when this is.
        Ok(Self { pinned: cuda.send(from)?, stamps, words })
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
        let words = |place: &usize| match self.words.get(*place) {
            Some(Some(words)) => cuda.received(words),
            _ => Ok(Vec::new()),
        };
        let words = places.iter().map(words).collect::<Result<Vec<_>, _>>()?;
        parse(cuda, &report, found, places, &words)
    }
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
