//! Report of an iteration, in host terms.

mod text;

use crate::ScaleState;
use crate::step::pending::SUM;
use binade_core::{FoundInf, Overflow};
use std::{borrow::Cow, sync::Arc};

/// Result of an iteration.
#[must_use = "a skipped step, or a run that has diverged, is silent until this is looked at"]
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
    /// The report of a step that every optimizer took; otherwise the report as an error.
    ///
    /// # Errors
    ///
    /// The report of a skip or of divergence.
    pub fn into_applied(self) -> Result<StepReport, StepReport> {
        match self {
            Self::Applied(report) => Ok(report),
            Self::Skipped(report) | Self::Diverged(report) => Err(report),
        }
    }

    /// Returns the report if the run can continue, skipped step or not; divergence is an error.
    ///
    /// # Errors
    ///
    /// The report of divergence.
    pub fn unless_diverged(self) -> Result<StepReport, StepReport> {
        match self {
            Self::Applied(report) | Self::Skipped(report) => Ok(report),
            Self::Diverged(report) => Err(report),
        }
    }

    /// Returns true if every optimizer stepped.
    pub fn is_applied(&self) -> bool {
        matches!(self, Self::Applied(_))
    }

    /// Returns the report of a step, whether applied, skipped or diverged.
    pub fn report(&self) -> &StepReport {
        match self {
            Self::Applied(report) | Self::Skipped(report) | Self::Diverged(report) => report,
        }
    }
}

/// Report of an iteration.
///
/// It is an error too, for loops that end on divergence with `Err(report.into())`. `Debug` gives the same text as `Display`, since `main` prints an
/// error by `Debug`.
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepReport {
    /// Summaries of the optimizers' steps, in the order in which they were joined.
    pub steps: Vec<StepSummary>,
    /// The scale after the update; `factor_before` is in it.
    pub scale: ScaleState,
    /// The notice of [`Scaler::with_notice`](crate::Scaler::with_notice) when the step was updated.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    // Boxed, so that functions that return a report as their error stay below the 128 bytes that clippy asks for.
    pub notice: Option<Box<Cow<'static, str>>>,
}

/// Report of one optimizer's step.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepSummary {
    /// The name that [`named`](crate::UnscaledGrads::named) gave the step; empty if it was not called.
    pub name: String,
    /// True if the step was skipped.
    pub skipped: bool,
    /// The norm of its gradients before clipping, where clipping measured it.
    #[cfg_attr(feature = "serde", serde(default, with = "binade_core::non_finite::option"))]
    pub norm: Option<f32>,
    /// Verdict that the step depended on: its parts together, the norm, and the steps it skips together with.
    pub verdict: FoundInf,
    /// Finding of each pass over gradients: one for a plain step, one for each micro-batch of a window.
    pub parts: Vec<PartReport>,
}

/// Report of one pass over gradients.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PartReport {
    /// `micro-batch 2`; empty where the step is one batch.
    pub name: String,
    /// Finding of the pass.
    pub finding: FoundInf,
}

impl StepReport {
    /// The first overflow of all, in the order of steps, parts and parameters.
    pub fn overflow(&self) -> Option<&Overflow> {
        let parts = self.parts().find_map(|part| part.finding.overflow.as_ref());
        parts.or_else(|| self.steps.iter().find_map(|step| step.verdict.overflow.as_ref()))
    }

    /// Trainable parameters that backward gave no gradient in some batch, in order, each as often as it was missing. The list excludes parameters
    /// whose gradient a window's sum lacks only because micro-batches were left out.
    pub fn missing(&self) -> impl Iterator<Item = &Arc<str>> {
        self.parts().filter(|part| !part.is_sum()).flat_map(|part| &part.finding.missing)
    }

    /// Returns true where a loop should print the report, applied or not: a step or a micro-batch was skipped, left out or halted, a parameter had no
    /// gradient, the run has diverged, or there is a notice.
    pub fn is_remarkable(&self) -> bool {
        let verdicts = self.steps.iter().map(|step| &step.verdict);
        let mut findings = self.parts().map(|part| &part.finding).chain(verdicts);
        let told = self.scale.diverged || self.notice.is_some() || self.missing().next().is_some();
        told || findings.any(FoundInf::is_raised)
    }

    fn parts(&self) -> impl Iterator<Item = &PartReport> {
        self.steps.iter().flat_map(|step| &step.parts)
    }
}

impl PartReport {
    /// Returns true for the sum of a window, or of a window within.
    pub(crate) fn is_sum(&self) -> bool {
        self.name.rsplit(", ").next() == Some(SUM)
    }
}

impl std::error::Error for StepReport {}
