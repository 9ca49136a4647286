//! Where the scale lives: uploaded, merged, updated in place, and read when someone asks.

use super::{
    Scale,
    report::{self, Report, Since},
};
use crate::{
    Cuda, Error, Found, Uncapturable,
    faults::Noted,
    kernels::{FINDINGS, MERGE, SCALE_UPDATE, SEEN},
    launch::{
        Arg, Grid,
        structs::{LossScaleBits, ScaleBits},
    },
    memory::Buffer,
};
use binade_core::Finding;
use binade_gpu::{Driver, is_alone, parse_report};
use binade_grad_scaler::{Join, LossScale, ScaleState, ScaleStore};
use std::{any::Any, sync::Arc};

impl ScaleStore for Cuda {
    type Scale = Scale;

    fn upload_state(&self, state: ScaleState) -> Result<Scale, Error> {
        Ok(Scale::new(self.buffer_of(bytemuck::bytes_of(&ScaleBits::from(state)))?))
    }

    fn merge(&self, into: &mut Found, from: &Found, join: Join) -> Result<(), Error> {
        self.has_made(into.buffer())?;
        self.has_made(from.buffer())?;
        into.own(self)?;
        let args = [
            Arg::Address(into.buffer().address()),
            Arg::Address(into.buffer().address()),
            Arg::Address(from.buffer().address()),
            Arg::U32(u32::from(join == Join::All)),
        ];
        self.launch(&MERGE, Grid::one(1), &args)
    }

    fn update(
        &self,
        scale: &mut Scale,
        parts: &[&Found],
        verdicts: &[&Found],
        rule: &LossScale,
    ) -> Result<(), Error> {
        let found: Vec<&Found> = parts.iter().chain(verdicts).copied().collect();
        found.iter().try_for_each(|found| self.has_made(found.buffer()))?;
        self.has_made(&scale.bits)?;
        if found.len() > FINDINGS {
            let why = Uncapturable::Findings { found: found.len(), most: FINDINGS };
            self.inner.pool.state.refuse(SCALE_UPDATE.name, why)?;
        }
        // The report of the last update is somebody else's by now, or nobody's.
        scale.report = None;
        if let Some(original) = &scale.original {
            self.inner.pool.state.depend(Arc::downgrade(original));
        }
        let before = scale.bits.address();
        let after = self.place_for(scale)?;
        let to = after.as_ref().map_or(before, Buffer::address);
        // Both as they are before: what comes in between from another thread is told again, rather than not.
        let since =
            Since { reported: self.inner.faults.reported(), replays: self.ledger().replays };
        let report = self.run_update([before, to], &found, parts.len(), rule)?;
        if let Some(after) = after {
            scale.move_to(after);
        }
        // A report with room for all, not for the last of several launches.
        if found.len() <= FINDINGS {
            scale.report = Some(Arc::new(Report::send(self, report, &found, since)?));
        }
        Ok(())
    }

    fn read(&self, found: &[&Found], scale: &Scale) -> Result<(Vec<Finding>, ScaleState), Error> {
        let sent = scale.report.as_ref();
        match sent.and_then(|report| Some((report, report.places(self, found)?))) {
            Some((report, places)) => report.frozen().read(self, found, &places),
            None => self.gather(found, scale),
        }
    }

    fn is_ready(&self, found: &[&Found], scale: &Scale) -> Result<bool, Error> {
        match &scale.report {
            Some(report) if report.places(self, found).is_some() => report.has_come(self),
            _ => Ok(true),
        }
    }

    fn upload_found(&self, found: &Finding) -> Result<Found, Error> {
        Found::upload(self, found)
    }
}

impl Cuda {
    /// A buffer to write the next value to, where somebody still reads this one; `None` for in place.
    fn place_for(&self, scale: &mut Scale) -> Result<Option<Buffer>, Error> {
        if is_alone(&scale.readers) {
            let readers: Arc<dyn Any + Send + Sync> = scale.readers.clone();
            self.inner.pool.state.alone(Arc::downgrade(&readers));
            return Ok(None);
        }
        self.inner.pool.state.may_move(SCALE_UPDATE.name, scale.bits.memory())?;
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
            self.launch(&SCALE_UPDATE, Grid::one(count(FINDINGS)), &args)?;
        }
        Ok(report)
    }

    /// What was not reported, since no update came after it: copied together, and waited for.
    fn gather(&self, found: &[&Found], scale: &Scale) -> Result<(Vec<Finding>, ScaleState), Error> {
        self.reads("resolve")?;
        let words = report::send_words(self, found)?;
        let fault = self.noted(|record| self.send(record))?;
        let sent = found.iter().map(|found| self.send(found.buffer()));
        let sent = sent.collect::<Result<Vec<_>, Error>>()?;
        // Last, so that all of it is there when this is.
        let mut all = self.receive(&self.send(&scale.bits)?)?;
        if let Some(Noted { copy, reported }) = fault {
            let copy = bytemuck::pod_read_unaligned(&self.received(&copy)?);
            self.report_fault(&Noted { copy, reported })?;
        }
        for finding in &sent {
            all.extend(self.received(finding)?);
        }
        let places: Vec<usize> = (0..found.len()).collect();
        parse_report(self, &all, found, &places, &report::received_words(self, &words, &places)?)
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
