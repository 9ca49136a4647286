//! Updates of the scale, and of the flag that moves it.

use super::report::{self, Report, ReportBaseline};
use crate::{
    CaptureError, Cuda, Error, Found, Scale,
    kernels::{FINDINGS, SCALE_UPDATE, SEEN},
    launch::{Arg, Grid, args, structs::LossScaleBits},
    memory::Buffer,
};
use binade_gpu::{Driver, is_alone};
use binade_grad_scaler::LossScale;
use std::{any::Any, sync::Arc};

impl Cuda {
    /// Moves the scale, and sends a report where one launch has taken all findings.
    pub(super) fn updated(
        &self,
        scale: &mut Scale,
        found: &[&Found],
        parts: usize,
        rule: &LossScale,
    ) -> Result<(), Error> {
        if found.len() > FINDINGS {
            let why = CaptureError::Findings { found: found.len(), most: FINDINGS };
            self.inner.pool.state.refuse(SCALE_UPDATE, why)?;
        }
        // The report of the last update is somebody else's by now, or nobody's.
        scale.report = None;
        if let Some(original) = &scale.readers.original {
            self.inner.pool.state.replayed(|replay| replay.alive.push(Arc::downgrade(original)));
        }
        let before = scale.bits.address();
        let after = self.place_for(scale)?;
        let to = after.as_ref().map_or(before, Buffer::address);
        // Both as they are before: what comes in between from another thread is told again, rather than not.
        let since = ReportBaseline {
            reported: self.inner.faults.reported(),
            replays: self.inner.counters.replays.get(),
        };
        let report = self.launch_update([before, to], found, parts, rule)?;
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

    /// Writes `value` into the flag of a finding: the result of a reduction among devices.
    ///
    /// The flag alone leaves `halted` and the magnitude, by which [`LogMax`](binade_grad_scaler::LogMax) moves the scale, as
    /// each device has them; [`reduce_on_host`](binade_grad_scaler::ScaleStore::reduce_on_host) joins all of a finding.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn write_flag(&self, found: &mut Found, value: u32) -> Result<(), Error> {
        let bits = found.own(self)?;
        self.put(&value.to_le_bytes(), bits, 0)
    }

    /// A buffer to write the next value to, where somebody still reads this one; `None` for in place.
    fn place_for(&self, scale: &Scale) -> Result<Option<Buffer>, Error> {
        if is_alone(&scale.readers.shared) {
            let readers: Arc<dyn Any + Send + Sync> = scale.readers.shared.clone();
            self.inner.pool.state.replayed(|replay| replay.sole.push(Arc::downgrade(&readers)));
            return Ok(None);
        }
        self.inner.pool.state.check_movable(SCALE_UPDATE, scale.bits.memory())?;
        self.buffer(scale.bits.bytes()).map(Some)
    }

    /// Launches as many as the findings take; gives the last one's report.
    fn launch_update(
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
        let seen = own.as_ref().map_or(self.shared_buffers()?.seen.address(), Buffer::address);
        for number in 0..launches {
            let here = found.chunks(FINDINGS).nth(number).unwrap_or_default();
            let addresses = addresses(here);
            let parts = parts.saturating_sub(number * FINDINGS).min(here.len());
            let values = [
                Arg::Bytes(bytemuck::bytes_of(&rule)),
                Arg::Bytes(bytemuck::cast_slice(&addresses)),
            ];
            let is_last = u32::from(number + 1 == launches);
            let (parts, all) = (count(parts), count(here.len()));
            let rest = args![parts, all, seen, is_last, &report, self.inner.faults.address()];
            let args = [&args![before, after][..], &values, &rest].concat();
            self.launch(SCALE_UPDATE, Grid::one(count(FINDINGS)), &args)?;
        }
        Ok(report)
    }
}

fn addresses(found: &[&Found]) -> [u64; FINDINGS] {
    let mut addresses = [0; FINDINGS];
    addresses.iter_mut().zip(found).for_each(|(to, found)| *to = found.bits.address());
    addresses
}

/// Returns the number of findings, which is at most [`FINDINGS`].
fn count(findings: usize) -> u32 {
    u32::try_from(findings).unwrap_or(u32::MAX)
}
