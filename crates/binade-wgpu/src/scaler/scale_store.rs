//! Where the scale lives: uploaded, merged, updated in place, and read when someone asks.

use super::{
    Found, Scale, found,
    report::{self, Report},
    scale,
};
use crate::{
    Error, Wgpu,
    dispatch::{
        Bound,
        structs::{self, FoundBits, count},
    },
    memory::Buffer,
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::Finding;
use binade_grad_scaler::{Join, LossScale, ScaleState, ScaleStore, Tolerance};
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
        Ok(Scale::new(self.buffer_of(bytemuck::bytes_of(&scale::to_bits(state)))?))
    }

    fn merge(&self, into: &mut Found, from: &Found, join: Join) -> Result<(), Error> {
        self.has_made(&from.bits)?;
        let bound = vec![Bound::whole(into.own(self)?), Bound::whole(&from.bits)];
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
        found.iter().try_for_each(|found| self.has_made(&found.bits))?;
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
        let bits = self.buffer_of(bytemuck::bytes_of(&found::bits(self, found)))?;
        Ok(Found { missing: found.missing.clone(), ..Found::new(Arc::new(bits)) })
    }
}

impl Wgpu {
    /// A report with these findings, and room for a scale before them.
    fn gathered(&self, found: &[&Found]) -> Result<Buffer, Error> {
        // Room for one finding at least: what a shader is given has no less than what it declares.
        let report = self.buffer(report::place(found.len().max(1)))?;
        for (number, found) in found.iter().enumerate() {
            self.copy(&found.bits, &report, report::place(number), size_of::<FoundBits>())?;
        }
        Ok(report)
    }

    /// What was not reported, since no update came after it: copied together, and waited for.
    fn gather(&self, found: &[&Found], scale: &Scale) -> Result<(Vec<Finding>, ScaleState), Error> {
        found.iter().try_for_each(|found| self.has_made(&found.bits))?;
        self.has_made(&scale.bits)?;
        let all = self.gathered(found)?;
        self.copy(&scale.bits, &all, 0, scale.bits.bytes())?;
        let places: Vec<usize> = (0..found.len()).collect();
        Report::send(self, &all, found)?.read(self, found, &places)
    }
}

fn params(rule: &LossScale, parts: usize, found: usize) -> structs::Update {
    let (tolerance, amount) = tolerance(rule.tolerance);
    let log_max = rule.log_max.as_ref();
    structs::Update {
        growth: rule.growth_exponent,
        backoff: rule.backoff_exponent,
        min: rule.min_exponent,
        max: rule.max_exponent,
        growth_interval: rule.growth_interval,
        patience: rule.patience,
        tolerance,
        amount,
        ceiling: log_max.map_or(0, |it| it.ceiling_exponent),
        deviations: log_max.map_or(0, |it| it.deviations),
        weight: log_max.map_or(0, |it| it.weight),
        slow_weight: log_max.map_or(0, |it| it.slow_weight),
        predicts: u32::from(log_max.is_some()),
        parts: count(parts),
        count: count(found),
        pad: 0,
    }
}

/// The kind's number in `scale_update.wgsl`, and its own.
fn tolerance(tolerance: Tolerance) -> (u32, u32) {
    match tolerance {
        Tolerance::None => (0, 0),
        Tolerance::UntilGoodStep { overflows } => (1, overflows),
        Tolerance::UntilGrowth { overflows } => (2, overflows),
        Tolerance::InARow { overflows } => (3, overflows),
        Tolerance::Share { of_65536 } => (4, of_65536),
    }
}
