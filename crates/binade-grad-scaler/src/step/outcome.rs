//! Outcome of an iteration: pending on the device until someone resolves it.

use super::pending::{Part, StepRecord};
use super::scaled::Shared;
use crate::{GradScaler, PartReport, PendingStep, ScaleStore, Step, StepReport, StepSummary};
use binade_core::FoundInf;
use std::{borrow::Cow, sync::Arc};

/// Outcome of an iteration, still on the device.
#[must_use = "a skipped step is silent until resolved; `ignore` says that this is meant"]
pub struct StepOutcome<D: GradScaler> {
    step: Arc<PendingStep<D>>,
    scale: D::Scale,
    shared: Arc<Shared<D>>,
    notice: Option<&'static str>,
}

/// A clone is of the same iteration; each clone is resolved or ignored separately.
impl<D: GradScaler> Clone for StepOutcome<D> {
    fn clone(&self) -> Self {
        Self::new(self.step.clone(), self.scale.clone(), self.shared.clone(), self.notice)
    }
}

impl<D: GradScaler> StepOutcome<D> {
    pub(crate) fn new(
        step: Arc<PendingStep<D>>,
        scale: D::Scale,
        shared: Arc<Shared<D>>,
        notice: Option<&'static str>,
    ) -> Self {
        Self { step, scale, shared, notice }
    }

    /// Waits for the device and returns the result: the only read of an iteration.
    ///
    /// Cheap on a host; on a GPU, best called one iteration late.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn resolve(self) -> Result<Step, D::Error> {
        let (found, scale) = self.shared.device.read(&self.step.findings(), &self.scale)?;
        let mut found = found.into_iter();
        let steps: Vec<_> = self.step.steps.iter().map(|step| summary(step, &mut found)).collect();
        let notice = self.notice.map(|notice| Box::new(Cow::Borrowed(notice)));
        Ok(Step::judge(StepReport { steps, scale, notice }))
    }

    /// Returns the result if the device is done, and the outcome itself if not.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn try_resolve(self) -> Result<Result<Step, Self>, D::Error> {
        if self.shared.device.is_ready(&self.step.findings(), &self.scale)? {
            self.resolve().map(Ok)
        } else {
            Ok(Err(self))
        }
    }

    /// Goes on without looking. Counters and divergence stay in [`Scaler::state`](crate::Scaler::state).
    pub fn ignore(self) {}

    /// Returns this outcome uncounted by [`Scaler::in_flight`](crate::Scaler::in_flight): for an outcome that is kept as long as its step may run
    /// again, such as a captured step.
    pub fn uncounted(self) -> Self
    where
        D: Clone,
    {
        let Self { step, scale, shared, notice } = self;
        Self { step: Arc::new(step.uncounted()), scale, shared: Arc::new(shared.apart()), notice }
    }
}

/// Returns the summary of a step, whose parts and verdict come next in `found`.
fn summary<D: ScaleStore>(
    step: &StepRecord<D>,
    found: &mut impl Iterator<Item = FoundInf>,
) -> StepSummary {
    let mut finding = || found.next().unwrap_or_default();
    let part = |part: &Part<D>| PartReport { name: part.name.clone(), finding: finding() };
    let mut parts: Vec<_> = step.parts.iter().map(part).collect();
    let verdict = finding();
    if parts.is_empty() {
        parts.push(PartReport { name: String::new(), finding: verdict.clone() });
    }
    // Each micro-batch of a window has the same list.
    for part in parts.iter_mut().filter(|part| !part.is_sum()) {
        part.finding.missing.extend(step.unlisted.iter().cloned());
    }
    let (name, skipped) = (step.name.clone(), verdict.is_raised());
    let norm = verdict.norm.filter(|_| step.measured);
    StepSummary { name, skipped, norm, verdict, parts }
}

impl Step {
    /// Returns the result that a report describes.
    pub(crate) fn judge(report: StepReport) -> Self {
        match report.steps.iter().any(|step| step.skipped) {
            _ if report.scale.diverged => Self::Diverged(report),
            true => Self::Skipped(report),
            false => Self::Applied(report),
        }
    }
}
