//! Updates of the scale.

use super::report::{self, Report, ReportBaseline};
use crate::{
    CaptureError, Cuda, Error, Found, Scale,
    kernels::{FINDINGS, SCALE_UPDATE, SEEN},
    launch::{Arg, Grid, structs::LossScaleBits},
    memory::Buffer,
};
use binade_gpu::{Driver, Update, is_alone};
use binade_grad_scaler::LossScale;
use std::{any::Any, sync::Arc};

impl Cuda {
    /// Moves the scale, and sends a report where one launch has taken all findings.
    pub(super) fn updated(
        &self,
        scale: &mut Scale,
        &Update { found, parts, rule }: &Update<'_, Self>,
    ) -> Result<(), Error> {
        if found.len() > FINDINGS {
            let why = CaptureError::Findings { found: found.len(), most: FINDINGS };
            self.inner.pool.state.refuse(SCALE_UPDATE.name, why)?;
        }
        // The report of the last update is somebody else's by now, or nobody's.
        scale.report = None;
        if let Some(original) = &scale.readers.original {
            self.inner.pool.state.depend(Arc::downgrade(original));
        }
        let before = scale.bits.address();
        let after = self.place_for(scale)?;
        let to = after.as_ref().map_or(before, Buffer::address);
        // Both as they are before: what comes in between from another thread is told again, rather than not.
        let since = ReportBaseline {
            reported: self.inner.faults.reported(),
            replays: self.counters().replays,
        };
        let report = self.run_update([before, to], found, parts, rule)?;
        if let Some(after) = after {
            // Goes on elsewhere: those who read it stay.
            (scale.bits, scale.readers.shared) = (Arc::new(after), Arc::default());
        }
        // A report with room for all, not for the last of several launches.
        if found.len() <= FINDINGS {
            scale.report = Some(Arc::new(Report::send(self, report, found, since)?));
        }
        Ok(())
    }

    /// A buffer to write the next value to, where somebody still reads this one; `None` for in place.
    fn place_for(&self, scale: &Scale) -> Result<Option<Buffer>, Error> {
        if is_alone(&scale.readers.shared) {
            let readers: Arc<dyn Any + Send + Sync> = scale.readers.shared.clone();
            self.inner.pool.state.alone(Arc::downgrade(&readers));
            return Ok(None);
        }
        self.inner.pool.state.check_movable(SCALE_UPDATE.name, scale.bits.memory())?;
        self.buffer(scale.bits.bytes()).map(Some)
    }

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
            self.launch(SCALE_UPDATE, Grid::one(count(FINDINGS)), &args)?;
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
