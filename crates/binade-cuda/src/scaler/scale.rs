//! The scale on the device, and as the host knows it.

use super::report::{self, Report, Since};
use crate::{
    Cuda, Error, Found, Uncapturable,
    kernels::{FINDINGS, SCALE_UPDATE, SEEN},
    launch::{Arg, Grid, structs::LossScaleBits},
    memory::Buffer,
};
use binade_gpu::{DeviceScale, is_alone};
use binade_grad_scaler::LossScale;
use std::{any::Any, sync::Arc};

/// A scale on the device. A change is made in place unless a clone is alive, which keeps what it reads.
#[derive(Debug)]
pub struct Scale {
    bits: Arc<Buffer>,
    /// Of the update that made it, on its way to the host.
    report: Option<Arc<Report>>,
    /// Shared with clones that keep what they read.
    readers: Arc<()>,
    /// Whether it is a clone of a captured run's.
    is_replayed: bool,
    /// Not of clones: a captured step asks whether the scale that it moves is still anybody's.
    original: Option<Arc<()>>,
}

impl Clone for Scale {
    /// Of a scale that replays move, what the latest has reported stays with the clone. One that is made within a captured
    /// run, or of such a one, is moved with each replay, and hinders nobody else from moving it.
    fn clone(&self) -> Self {
        let report = self.report.as_ref().map(Report::frozen);
        let is_captured = self.bits.pool().state.running() == Some(true) || self.is_replayed;
        let readers = if is_captured { Arc::default() } else { self.readers.clone() };
        let bits = self.bits.clone();
        Self { bits, report, readers, is_replayed: is_captured, original: None }
    }
}

impl DeviceScale<Cuda> for Scale {
    type Report = Report;

    fn new(bits: Buffer) -> Self {
        Self {
            bits: Arc::new(bits),
            report: None,
            readers: Arc::default(),
            is_replayed: false,
            original: Some(Arc::default()),
        }
    }

    fn bits(&self) -> &Buffer {
        &self.bits
    }

    fn report(&self) -> Option<&Arc<Report>> {
        self.report.as_ref()
    }

    fn update(
        &mut self,
        cuda: &Cuda,
        found: &[&Found],
        parts: usize,
        rule: &LossScale,
    ) -> Result<(), Error> {
        if found.len() > FINDINGS {
            let why = Uncapturable::Findings { found: found.len(), most: FINDINGS };
            cuda.inner.pool.state.refuse(SCALE_UPDATE.name, why)?;
        }
        // The report of the last update is somebody else's by now, or nobody's.
        self.report = None;
        if let Some(original) = &self.original {
            cuda.inner.pool.state.depend(Arc::downgrade(original));
        }
        let before = self.bits.address();
        let after = self.place(cuda)?;
        let to = after.as_ref().map_or(before, Buffer::address);
        // Both as they are before: what comes in between from another thread is told again, rather than not.
        let since =
            Since { reported: cuda.inner.faults.reported(), replays: cuda.ledger().replays };
        let report = cuda.run_update([before, to], found, parts, rule)?;
        if let Some(after) = after {
            // Goes on elsewhere: those who read it stay.
            (self.bits, self.readers) = (Arc::new(after), Arc::default());
        }
        // A report with room for all, not for the last of several launches.
        if found.len() <= FINDINGS {
            self.report = Some(Arc::new(Report::send(cuda, report, found, since)?));
        }
        Ok(())
    }
}

impl Scale {
    /// A buffer to write the next value to, where somebody still reads this one; `None` for in place.
    fn place(&self, cuda: &Cuda) -> Result<Option<Buffer>, Error> {
        if is_alone(&self.readers) {
            let readers: Arc<dyn Any + Send + Sync> = self.readers.clone();
            cuda.inner.pool.state.alone(Arc::downgrade(&readers));
            return Ok(None);
        }
        cuda.inner.pool.state.may_move(SCALE_UPDATE.name, self.bits.memory())?;
        cuda.buffer(self.bits.bytes()).map(Some)
    }
}

impl Cuda {
    /// Launches as many as the findings take; gives the last one's report.
    fn run_update(
        &self,
        [before, after]: [u64; 2],
        found: &[&Found],
        parts: usize,
        rule: &LossScale,
    ) -> Result<Buffer, Error> {
        let rule = LossScaleBits::from(rule);
        let launches = found.len().div_ceil(FINDINGS).max(1);
        let report = self.buffer(report::bytes(found.len().min(FINDINGS)))?;
        // Several launches hand on a word of their own: another thread's may come in between.
        let own = if launches > 1 { Some(self.zeros(SEEN)?) } else { None };
        let seen = own.as_ref().map_or(self.fixed()?.seen.address(), Buffer::address);
        for number in 0..launches {
            let here = found.chunks(FINDINGS).nth(number).unwrap_or_default();
            let addresses = addresses(here);
            let parts = parts.saturating_sub(number * FINDINGS).min(here.len());
            let args = [
                Arg::Address(before),
                Arg::Address(after),
                Arg::Bytes(bytemuck::bytes_of(&rule)),
                Arg::Bytes(bytemuck::cast_slice(&addresses)),
                Arg::U32(count(parts)),
                Arg::U32(count(here.len())),
                Arg::Address(seen),
                Arg::U32(u32::from(number + 1 == launches)),
                Arg::Address(report.address()),
                Arg::Address(self.inner.faults.address()),
            ];
            self.launch(&SCALE_UPDATE, Grid::one(count(FINDINGS)), &args)?;
        }
        Ok(report)
    }
}

fn addresses(found: &[&Found]) -> [u64; FINDINGS] {
    let mut addresses = [0; FINDINGS];
    addresses.iter_mut().zip(found).for_each(|(to, found)| *to = found.buffer().address());
    addresses
}

/// At most [`FINDINGS`].
fn count(findings: usize) -> u32 {
    u32::try_from(findings).unwrap_or(u32::MAX)
}
