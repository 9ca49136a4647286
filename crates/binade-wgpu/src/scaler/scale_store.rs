//! Where the scale lives: uploaded, merged, updated in place, and read when someone asks.

use super::{Scale, report::Report};
use crate::{
    Error, Found, Wgpu,
    dispatch::{
        Bound,
        structs::{self, FoundBits, ScaleBits, count},
    },
    memory::Buffer,
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::Finding;
use binade_gpu::{Driver, LogMaxBits, LossScaleBits, finding_offset};
use binade_grad_scaler::{Join, LossScale, ScaleState, ScaleStore};
use std::sync::Arc;

pub(super) const MERGE: Shader = Shader {
    name: "merge",
    file: "merge",
    params: size_of::<structs::Merge>(),
    bindings: &[(1, Write), (2, Read)],
};

pub(super) const SCALE_UPDATE: Shader = Shader {
    name: "scale_update",
    file: "scale_update",
    params: size_of::<structs::Update>(),
    bindings: &[(1, Write), (2, Write)],
};

impl ScaleStore for Wgpu {
    type Scale = Scale;

    fn upload_state(&self, state: ScaleState) -> Result<Scale, Error> {
        Ok(Scale::new(self.buffer_of(bytemuck::bytes_of(&ScaleBits::from(state)))?))
    }

    fn merge(&self, into: &mut Found, from: &Found, join: Join) -> Result<(), Error> {
        self.has_made(from.buffer())?;
        let bound = vec![Bound::whole(into.own(self)?), Bound::whole(from.buffer())];
        let params = structs::Merge { all: u32::from(join == Join::All) };
        self.dispatch(&MERGE, &params, bound, 1)
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
        // The report of the last update is somebody else's by now, or nobody's.
        scale.report = None;
        let report = self.gathered(&found)?;
        let params = params(rule, parts.len(), found.len());
        let bound = vec![Bound::whole(self.own(&mut scale.bits)?), Bound::whole(&report)];
        self.dispatch(&SCALE_UPDATE, &params, bound, 1)?;
        scale.report = Some(Arc::new(Report::send(self, &report, &found)?));
        Ok(())
    }

    fn read(&self, found: &[&Found], scale: &Scale) -> Result<(Vec<Finding>, ScaleState), Error> {
        let sent = scale.report.as_ref();
        match sent.and_then(|report| Some((report, report.places(found)?))) {
            Some((report, places)) => report.read(self, found, &places),
            None => self.gather(found, scale),
        }
    }

    fn is_ready(&self, found: &[&Found], scale: &Scale) -> Result<bool, Error> {
        match &scale.report {
            Some(report) if report.places(found).is_some() => report.has_come(self),
            _ => Ok(true),
        }
    }

    fn upload_found(&self, found: &Finding) -> Result<Found, Error> {
        Found::upload(self, found)
    }
}

impl Wgpu {
    /// A report with these findings, and room for a scale before them.
    fn gathered(&self, found: &[&Found]) -> Result<Buffer, Error> {
        // Room for one finding at least: what a shader is given has no less than what it declares.
        let report = self.buffer(finding_offset(found.len().max(1)))?;
        for (number, found) in found.iter().enumerate() {
            self.copy_to(found.buffer(), &report, finding_offset(number), size_of::<FoundBits>())?;
        }
        Ok(report)
    }

    /// What was not reported, since no update came after it: copied together, and waited for.
    fn gather(&self, found: &[&Found], scale: &Scale) -> Result<(Vec<Finding>, ScaleState), Error> {
        found.iter().try_for_each(|found| self.has_made(found.buffer()))?;
        self.has_made(&scale.bits)?;
        let all = self.gathered(found)?;
        self.copy_to(&scale.bits, &all, 0, scale.bits.bytes())?;
        let places: Vec<usize> = (0..found.len()).collect();
        Report::send(self, &all, found)?.read(self, found, &places)
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
