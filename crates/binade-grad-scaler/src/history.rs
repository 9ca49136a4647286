//! What a run's outcomes add up to, by optimizer and by parameter.

use crate::{ScaleState, Step, StepReport, StepSummary};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a run's outcomes add up to: fed with every [`Step`] in order, on the host.
///
/// [`ScaleState`] counts on the device and of all optimizers together: updates, overflows, skips, skips
/// in a row. This has what it has not: each optimizer by name, parameters, and the range of the scale.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct History {
    optimizers: BTreeMap<String, StepCounts>,
    overflows: BTreeMap<Arc<str>, u64>,
    scales: Option<(f32, f32)>,
}

/// One optimizer's steps.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepCounts {
    /// Steps taken.
    pub applied: u64,
    /// Steps left out.
    pub skipped: u64,
    /// Skips since the last step that was taken.
    pub in_a_row: u64,
    /// The most skips in a row so far.
    pub longest: u64,
}

impl StepCounts {
    fn record(&mut self, skipped: bool) {
        self.applied += u64::from(!skipped);
        self.skipped += u64::from(skipped);
        self.in_a_row = if skipped { self.in_a_row + 1 } else { 0 };
        self.longest = self.longest.max(self.in_a_row);
    }
}

impl History {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in what became of an iteration.
    pub fn record(&mut self, step: &Step) {
        let report = step.report();
        for StepSummary { name, skipped, .. } in &report.steps {
            self.optimizers.entry(name.clone()).or_default().record(*skipped);
        }
        for parameter in overflowed(report) {
            *self.overflows.entry(parameter.clone()).or_default() += 1;
        }
        for factor in [report.scale.factor_before(), report.scale.factor()] {
            let (low, high) = self.scales.unwrap_or((factor, factor));
            self.scales = Some((low.min(factor), high.max(factor)));
        }
    }

    /// What `optimizer` did, by the name that [`named`](crate::UnscaledGrads::named) gave it; nothing if it never stepped.
    pub fn of(&self, optimizer: &str) -> StepCounts {
        self.optimizers.get(optimizer).copied().unwrap_or_default()
    }

    /// Every optimizer by name, the empty one for those without.
    pub fn optimizers(&self) -> impl Iterator<Item = (&str, StepCounts)> {
        self.optimizers.iter().map(|(name, counts)| (name.as_str(), *counts))
    }

    /// How often each parameter was the first to overflow in its batch or micro-batch, in the order of names. A norm that
    /// was not finite goes by [`Norm::NAME`](crate::Norm::NAME).
    pub fn overflows(&self) -> impl Iterator<Item = (&str, u64)> {
        self.overflows.iter().map(|(name, &times)| (&**name, times))
    }

    /// The parameter that was most often the first to overflow, and how often; of several the first by name.
    pub fn worst(&self) -> Option<(&str, u64)> {
        self.overflows().reduce(|worst, next| if next.1 > worst.1 { next } else { worst })
    }

    /// The smallest and the largest scale, before and after the updates seen.
    pub fn scales(&self) -> Option<(f32, f32)> {
        self.scales
    }
}

/// The first offender of each part; where no part has one, that of a verdict: a norm of a window's sum.
fn overflowed(report: &StepReport) -> Vec<&Arc<str>> {
    let parts = report.steps.iter().flat_map(|step| &step.parts);
    let overflows = parts.filter_map(|part| part.finding.overflow.as_ref());
    let own: Vec<_> = overflows.map(|overflow| &overflow.parameter).collect();
    if own.is_empty() { report.overflow().map(|o| &o.parameter).into_iter().collect() } else { own }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((low, high)) = self.scales else { return f.write_str("no steps yet") };
        for (name, counts) in self.optimizers() {
            let StepCounts { applied, skipped, longest, in_a_row } = counts;
            let colon = if name.is_empty() { "" } else { ": " };
            write!(f, "{name}{colon}{applied} applied, {skipped} skipped")?;
            if skipped > 0 {
                write!(f, " (at most {longest} in a row, {in_a_row} now)")?;
            }
            f.write_str("; ")?;
        }
        write!(f, "scale {} to {}", Short(low), Short(high))?;
        match self.worst() {
            Some((name, times)) => write!(f, "; overflowed most often: {name}, {times} times"),
            None => Ok(()),
        }
    }
}

/// A scale as torch prints it where that is short, else as a power of two if it is one.
struct Short(f32);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(scale) = *self;
        match ScaleState::import(scale) {
            _ if (0.125..=16_777_216.0).contains(&scale) => write!(f, "{scale}"),
            Some(state) if state.is_exact() => write!(f, "2^{}", state.exponent),
            _ => write!(f, "{scale:e}"),
        }
    }
}
