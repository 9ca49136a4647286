//! What happened in an iteration, in host terms and in words.

use crate::ScaleState;
use binade_core::{Finding, Overflow};
use std::fmt;
use std::sync::Arc;

/// What happened in an iteration.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Step {
    /// Every optimizer stepped.
    Applied(StepReport),
    /// At least one did not; the report names them and why.
    Skipped(StepReport),
    /// The rule has given up: too many skips in a row, or an overflow at the lowest scale.
    Diverged(StepReport),
}

impl Step {
    pub(crate) fn judge(report: StepReport) -> Self {
        match report.steps.iter().any(|step| step.skipped) {
            _ if report.scale.diverged => Self::Diverged(report),
            true => Self::Skipped(report),
            false => Self::Applied(report),
        }
    }

    /// Whether every optimizer stepped.
    pub fn is_applied(&self) -> bool {
        matches!(self, Self::Applied(_))
    }

    /// The particulars, whatever happened.
    pub fn report(&self) -> &StepReport {
        match self {
            Self::Applied(report) | Self::Skipped(report) | Self::Diverged(report) => report,
        }
    }
}

/// The particulars of an iteration.
///
/// It is an error too, for loops that end on divergence with `Err(report.into())`.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepReport {
    /// One for each optimizer, in the order they were joined.
    pub steps: Vec<StepSummary>,
    /// The scale after the update; `factor_before` is in it.
    pub scale: ScaleState,
}

/// One optimizer's step.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepSummary {
    /// As [`named`](crate::UnscaledGrads::named); empty if nobody did.
    pub name: String,
    /// Whether it was skipped.
    pub skipped: bool,
    /// The norm of its gradients before clipping, where clipping measured it.
    pub norm: Option<f32>,
    /// What the step depended on: its parts together, the norm, and those it skips together with.
    pub verdict: Finding,
    /// What each pass over gradients found: one for a plain step, one for each micro-batch of a window.
    pub parts: Vec<PartReport>,
}

/// One pass over gradients.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PartReport {
    /// `micro-batch 2`; empty where the step is one batch.
    pub name: String,
    /// What it found.
    pub finding: Finding,
}

impl StepReport {
    /// The first overflow of all, in the order of steps, parts and parameters.
    pub fn overflow(&self) -> Option<&Overflow> {
        let parts = self.parts().find_map(|part| part.finding.overflow.as_ref());
        parts.or_else(|| self.steps.iter().find_map(|step| step.verdict.overflow.as_ref()))
    }

    /// Trainable parameters that had no gradient in some part, in order, each as often as it was missing.
    pub fn missing(&self) -> impl Iterator<Item = &Arc<str>> {
        self.parts().flat_map(|part| &part.finding.missing)
    }

    fn parts(&self) -> impl Iterator<Item = &PartReport> {
        self.steps.iter().flat_map(|step| &step.parts)
    }
}

impl std::error::Error for StepReport {}

impl fmt::Display for StepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = &self.scale;
        let skipped = self.steps.iter().any(|step| step.skipped);
        write!(f, "step {} {}", scale.updates, if skipped { "skipped" } else { "applied" })?;
        for step in &self.steps {
            step.describe(f)?;
        }
        write!(f, "; scale {}", scale.factor_before())?;
        if scale.before != scale.exponent {
            write!(f, " -> {}", scale.factor())?;
        }
        if skipped {
            write!(
                f,
                "; {} skipped in a row, {} of {} in all",
                scale.bad_steps, scale.skipped, scale.updates
            )?;
        }
        self.advise(f)
    }
}

impl StepReport {
    fn advise(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.overflow().is_some_and(|o| o.what() == "NaN") {
            f.write_str(
                "; NaN is not cured by a lower scale: if it stays, look at the loss and at the operation before this \
                 parameter",
            )?;
        }
        if self.scale.diverged {
            f.write_str(
                "; the run has diverged and later steps are skipped: lower the learning rate or clip, then go on from a \
                 checkpoint with `Scaler::set_state`",
            )?;
        }
        Ok(())
    }
}

impl StepSummary {
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            let names = [self.name.as_str(), part.name.as_str()];
            let label =
                names.iter().filter(|n| !n.is_empty()).copied().collect::<Vec<_>>().join(", ");
            describe(&part.finding, &label, f)?;
        }
        let own = self.parts.iter().all(|part| !part.finding.is_raised());
        match &self.verdict.overflow {
            Some(overflow) if own => describe_overflow(overflow, &self.name, f),
            _ => Ok(()),
        }
    }
}

fn describe(finding: &Finding, label: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(overflow) = &finding.overflow {
        describe_overflow(overflow, label, f)?;
        write!(
            f,
            " ({} infinite, {} NaN, the largest finite {:e})",
            finding.infinities, finding.nans, finding.magnitude
        )?;
    }
    if !finding.missing.is_empty() {
        write!(f, "; {}no gradient for {}", prefix(label), finding.missing.join(", "))?;
    }
    if finding.halted {
        write!(f, "; {}halted, since the run had diverged", prefix(label))?;
    }
    Ok(())
}

fn describe_overflow(overflow: &Overflow, label: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Overflow { parameter, index, .. } = overflow;
    write!(f, "; {}{parameter}[{index}] is {}", prefix(label), overflow.what())
}

fn prefix(label: &str) -> String {
    if label.is_empty() { String::new() } else { format!("{label}: ") }
}
