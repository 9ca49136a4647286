//! The scale on the device, and as the host knows it.

use super::{report::Report, shaders::SCALE_UPDATE};
use crate::{
    Error, Found, Wgpu,
    dispatch::{
        Bound,
        structs::{self, FoundBits, count},
    },
    memory::Buffer,
};
use binade_gpu::{DeviceScale, Driver, LogMaxBits, LossScaleBits, finding_offset};
use binade_grad_scaler::LossScale;
use std::sync::Arc;

/// Scale on the device. A change is made in place unless a clone is alive, which keeps what it reads.
#[derive(Clone, Debug)]
pub struct Scale {
    bits: Arc<Buffer>,
    /// Of the update that made it, on its way to the host.
    report: Option<Arc<Report>>,
}

impl DeviceScale<Wgpu> for Scale {
    type Report = Report;

    fn new(bits: Buffer) -> Self {
        Self { bits: Arc::new(bits), report: None }
    }

    fn bits(&self) -> &Buffer {
        &self.bits
    }

    fn report(&self) -> Option<&Arc<Report>> {
        self.report.as_ref()
    }

    fn update(
        &mut self,
        wgpu: &Wgpu,
        found: &[&Found],
        parts: usize,
        rule: &LossScale,
    ) -> Result<(), Error> {
        // The report of the last update is somebody else's by now, or nobody's.
        self.report = None;
        let report = wgpu.gathered(found)?;
        let params = params(rule, parts, found.len());
        let bound = vec![Bound::whole(wgpu.own(&mut self.bits)?), Bound::whole(&report)];
        wgpu.dispatch(&SCALE_UPDATE, &params, bound, 1)?;
        self.report = Some(Arc::new(Report::send(wgpu, &report, found)?));
        Ok(())
    }
}

impl Wgpu {
    /// A report with these findings, and room for a scale before them.
    pub(super) fn gathered(&self, found: &[&Found]) -> Result<Buffer, Error> {
        // Room for one finding at least: what a shader is given has no less than what it declares.
        let report = self.buffer(finding_offset(found.len().max(1)))?;
        for (number, found) in found.iter().enumerate() {
            self.copy_to(found.buffer(), &report, finding_offset(number), size_of::<FoundBits>())?;
        }
        Ok(report)
    }
}

fn params(rule: &LossScale, parts: usize, found: usize) -> structs::Update {
    let rule = LossScaleBits::from(rule);
    let LogMaxBits { ceiling, deviations, weight, slow_weight } = rule.log_max;
    structs::Update {
        growth: rule.growth,
        backoff: rule.backoff,
        min: rule.min,
        max: rule.max,
        growth_interval: rule.growth_interval,
        patience: rule.patience,
        tolerance: rule.tolerance,
        amount: rule.amount,
        ceiling,
        deviations,
        weight,
        slow_weight,
        predicts: rule.predicts,
        parts: count(parts),
        count: count(found),
        pad: 0,
    }
}
