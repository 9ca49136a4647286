//! A step's report on its way to the host: the scale after it, and what its passes found.

use super::{Found, scale};
use crate::{
    Error, Wgpu,
    dispatch::structs::{FoundBits, ScaleBits},
    faults::Noted,
    memory::Buffer,
    sent::Sent,
};
use binade_core::Finding;
use binade_grad_scaler::ScaleState;

/// A copy that was asked for when the scale was updated, so that whoever asks later waits for no later step.
#[derive(Debug)]
pub(super) struct Report {
    sent: Sent,
    /// Of the findings, in order.
    stamps: Vec<u64>,
    /// Of each finding, which of a window's gradients are there, where only the device knows.
    words: Vec<Option<Sent>>,
    /// The record of indices that point nowhere, as it was then.
    faults: Option<Noted>,
}

/// Where a report has the finding of this number.
pub(super) fn place(number: usize) -> usize {
    size_of::<ScaleBits>() + number * size_of::<FoundBits>()
}

impl Report {
    /// Asks for a copy of what `update` has written.
    pub(super) fn send(wgpu: &Wgpu, from: &Buffer, found: &[&Found]) -> Result<Self, Error> {
        let stamps = found.iter().map(|found| found.stamp).collect();
        let (words, faults) = (send_words(wgpu, found)?, wgpu.send_faults()?);
        Ok(Self { sent: wgpu.send(from, 0..from.bytes())?, stamps, words, faults })
    }

    /// Whether all that `read` looks at is there.
    pub(super) fn has_come(&self, wgpu: &Wgpu) -> Result<bool, Error> {
        self.ask(wgpu)?;
        for sent in self.all() {
            if !wgpu.has_come(sent)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Its copies, all of one batch.
    fn all(&self) -> impl Iterator<Item = &Sent> {
        let faults = self.faults.as_ref().map(|noted| &noted.copy);
        self.words.iter().flatten().chain(faults).chain([&self.sent])
    }

    /// Asks for each, so that one wait does for all.
    fn ask(&self, wgpu: &Wgpu) -> Result<(), Error> {
        self.all().try_for_each(|sent| wgpu.ask(sent))
    }

    /// Where each of `found` is in it, if all are.
    pub(super) fn places(&self, found: &[&Found]) -> Option<Vec<usize>> {
        let place = |found: &&Found| self.stamps.iter().position(|stamp| *stamp == found.stamp);
        found.iter().map(place).collect()
    }

    /// What it says of those at `places`; waits until it is there.
    pub(super) fn read(
        &self,
        wgpu: &Wgpu,
        found: &[&Found],
        places: &[usize],
    ) -> Result<(Vec<Finding>, ScaleState), Error> {
        self.ask(wgpu)?;
        wgpu.report_fault(self.faults.as_ref())?;
        let report = wgpu.receive(&self.sent)?;
        let words = places.iter().map(|place| match self.words.get(*place) {
            Some(Some(words)) => wgpu.receive(words),
            _ => Ok(Vec::new()),
        });
        let words = words.collect::<Result<Vec<_>, Error>>()?;
        parse(wgpu, &report, found, places, &words)
    }
}

/// Asks for the words that [`Found::words`] names, where there are any.
pub(super) fn send_words(wgpu: &Wgpu, found: &[&Found]) -> Result<Vec<Option<Sent>>, Error> {
    let send =
        |found: &&Found| found.words().map(|words| wgpu.send(words, 0..words.bytes())).transpose();
    found.iter().map(send).collect()
}

/// What a report says: the scale's bits first. `words` are each finding's, in the order of `found`.
pub(super) fn parse(
    wgpu: &Wgpu,
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
        Ok(found.finding(wgpu, &bytemuck::pod_read_unaligned(bits), words))
    };
    let findings =
        found.iter().zip(places).zip(words).map(finding).collect::<Result<_, Error>>()?;
    Ok((findings, scale::from_bits(&state)))
}

/// A report of another length than was asked for: a defect of this crate.
fn torn(error: bytemuck::PodCastError) -> Error {
    Error::Driver { call: "report", cause: error.to_string() }
}
