//! Report of a step, in transfer to the host: the scale after the step, and the found-inf results of its passes.

use crate::{Error, Found, Wgpu, faults::FaultCopy, memory::Buffer, readback::Readback};
use binade_gpu::{Driver, FoundBits, Reported, finding_offset};

/// Copy of a step's report, requested when the scale was updated, so that a later read waits for no later step.
#[derive(Debug)]
pub struct Report {
    sent: Readback,
    /// Stamps of the found-inf results, in order.
    stamps: Vec<u64>,
    /// Flags, for each found-inf result, of the present gradients of a window, if only the device knows them.
    words: Vec<Option<Readback>>,
    /// Copy of the record of invalid indices at that time.
    faults: Option<FaultCopy>,
}

impl Report {
    /// Requests a copy of the data that `update` has written.
    pub(super) fn send(wgpu: &Wgpu, from: &Buffer, found: &[&Found]) -> Result<Self, Error> {
        let stamps = found.iter().map(|found| found.stamp).collect();
        let (words, faults) = (send_words(wgpu, found)?, wgpu.send_faults()?);
        Ok(Self { sent: wgpu.send(from, 0..from.bytes())?, stamps, words, faults })
    }

    /// Its copies, all of one batch.
    fn all(&self) -> impl Iterator<Item = &Readback> {
        let faults = self.faults.as_ref().map(|noted| &noted.copy);
        self.words.iter().flatten().chain(faults).chain([&self.sent])
    }

    /// Asks for each, so that one wait does for all.
    fn ask(&self, wgpu: &Wgpu) -> Result<(), Error> {
        self.all().try_for_each(|sent| wgpu.ask(sent))
    }
}

impl binade_gpu::Report<Wgpu> for Report {
    fn stamps(&self) -> &[u64] {
        &self.stamps
    }

    fn has_come(&self, wgpu: &Wgpu) -> Result<bool, Error> {
        self.ask(wgpu)?;
        for sent in self.all() {
            if !wgpu.has_come(sent)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn read(&self, wgpu: &Wgpu, places: &[usize]) -> Result<Reported, Error> {
        self.ask(wgpu)?;
        wgpu.report_fault(self.faults.as_ref())?;
        let report = wgpu.receive(&self.sent)?;
        let words = places.iter().map(|place| match self.words.get(*place) {
            Some(Some(words)) => wgpu.receive(words),
            _ => Ok(Vec::new()),
        });
        Ok((report, words.collect::<Result<_, Error>>()?))
    }

    fn gather(wgpu: &Wgpu, found: &[&Found], scale: &Buffer) -> Result<Reported, Error> {
        let all = wgpu.gathered(found)?;
        wgpu.copy_to(scale, &all, 0, scale.bytes())?;
        let places: Vec<usize> = (0..found.len()).collect();
        Self::send(wgpu, &all, found)?.read(wgpu, &places)
    }
}

/// Requests the words of [`Found::words`], if there are any.
pub(super) fn send_words(wgpu: &Wgpu, found: &[&Found]) -> Result<Vec<Option<Readback>>, Error> {
    let send =
        |found: &&Found| found.words().map(|words| wgpu.send(words, 0..words.bytes())).transpose();
    found.iter().map(send).collect()
}

impl Wgpu {
    /// Returns a report with these found-inf results, and room for a scale before them.
    pub(super) fn gathered(&self, found: &[&Found]) -> Result<Buffer, Error> {
        // Room for one finding at least: what a shader is given has no less than what it declares.
        let report = self.buffer(finding_offset(found.len().max(1)))?;
        for (number, found) in found.iter().enumerate() {
            self.copy_to(&found.bits, &report, finding_offset(number), size_of::<FoundBits>())?;
        }
        Ok(report)
    }
}
