//! Text of a report: one line for a log, which ends with a remedy.

use crate::{PartReport, ScaleState, StepReport, StepSummary};
use binade_core::{FoundInf, Overflow};
use std::fmt::{self, Formatter, Result};

impl fmt::Display for StepReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.heading(f)?;
        for step in &self.steps {
            step.describe(self.scale.diverged, f)?;
        }
        self.numbers(f)?;
        let notice = self.notice.as_deref().map(AsRef::as_ref);
        self.advice().into_iter().chain(notice).try_for_each(|advice| write!(f, ". {advice}"))
    }
}

impl fmt::Debug for StepReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        fmt::Display::fmt(self, f)
    }
}

impl StepReport {
    /// Writes the step's number, and if all, some or none of its optimizers stepped.
    fn heading(&self, f: &mut Formatter<'_>) -> Result {
        let (skipped, applied): (Vec<_>, Vec<_>) = self.steps.iter().partition(|s| s.skipped);
        let what = if skipped.is_empty() { "applied" } else { "skipped" };
        write!(f, "step {} {what}", self.scale.updates)?;
        if !skipped.is_empty() && !applied.is_empty() {
            let names: Vec<_> = skipped.iter().map(|s| s.name.as_str()).collect();
            write!(f, " for {} of {} ({})", skipped.len(), self.steps.len(), names.join(", "))?;
        }
        let parts: Vec<_> = applied.iter().flat_map(|s| &s.parts).filter(|p| !p.is_sum()).collect();
        match parts.iter().filter(|part| part.finding.is_raised()).count() {
            0 => Ok(()),
            left_out => write!(f, " without {left_out} of {} micro-batches", parts.len()),
        }
    }

    fn numbers(&self, f: &mut Formatter<'_>) -> Result {
        let now = &self.scale;
        write!(f, "; scale {}", Factor(now.before, now))?;
        if now.before != now.exponent {
            write!(f, " -> {}", Factor(now.exponent, now))?;
        }
        if self.steps.iter().any(|s| s.skipped) {
            let ScaleState { bad_steps, skipped, updates, .. } = now;
            write!(f, "; {bad_steps} skipped in a row, {skipped} of {updates} in all")?;
        }
        Ok(())
    }

    /// Infinities beside NaNs: an overflow inside backward (inf - inf, inf * 0), which a lower scale does cure.
    fn has_infinities(&self) -> bool {
        let parts = self.steps.iter().flat_map(|step| &step.parts).map(|part| &part.finding);
        parts.chain(self.steps.iter().map(|step| &step.verdict)).any(|found| found.infinities > 0)
    }

    fn advice(&self) -> Vec<&'static str> {
        let mut advice = Vec::new();
        match self.overflow() {
            Some(overflow) if overflow.what() == "NaN" && !self.has_infinities() => {
                advice.push(NAN);
            }
            Some(overflow) if beyond_f32(overflow) => advice.push(BEYOND),
            Some(_) if self.scale.diverged => {}
            Some(_) if self.scale.before == self.scale.exponent && self.scale.exponent <= 0 => {
                advice.push(UNSCALED);
            }
            Some(_) if self.scale.before == self.scale.exponent => advice.push(STAYS),
            Some(_) => advice.push(LOWERED),
            None => {}
        }
        if self.missing().next().is_some() {
            advice.push(MISSING);
        }
        if self.scale.diverged {
            advice.push(DIVERGED);
        }
        advice
    }
}

const NAN: &str = "A lower scale cures NaN only where an overflow inside backward made it: if it stays, look at the loss \
                   and at the operation before this parameter";
const BEYOND: &str = "No scale cures this, since the gradients themselves are too large for f32: look at the loss and \
                      at the learning rate";
const STAYS: &str =
    "The rule keeps the scale where it is: if this stays, start lower or let the rule back off";
const UNSCALED: &str = "The loss is not scaled up, so no lower scale would help: look at the loss and at the learning rate";
const LOWERED: &str = "The next loss is scaled less: nothing to do unless this stays";
const MISSING: &str =
    "Let the loss depend on a parameter that has no gradient, or take it out of the set";
const DIVERGED: &str = "The run has diverged and later steps of scaled losses are skipped: lower the learning rate or clip, then go on \
                        from a checkpoint with `Scaler::set_state`";

/// An element that overflowed when it was divided by a scale below 1, or a norm.
fn beyond_f32(overflow: &Overflow) -> bool {
    overflow.scaled.is_finite() || *overflow.parameter == *FoundInf::NORM
}

impl StepSummary {
    fn describe(&self, diverged: bool, f: &mut Formatter<'_>) -> Result {
        for part in &self.parts {
            self.describe_part(part, diverged, f)?;
        }
        let own = self.parts.iter().all(|part| !part.finding.is_raised());
        match &self.verdict.overflow {
            Some(overflow) if own && *overflow.parameter == *FoundInf::NORM => {
                write!(f, "; {}", Label(&self.name, ""))?;
                place(overflow, f)
            }
            Some(overflow) if own => {
                write!(f, "; {}skipped together for ", Label(&self.name, ""))?;
                place(overflow, f)
            }
            _ => Ok(()),
        }
    }

    fn describe_part(&self, part: &PartReport, diverged: bool, f: &mut Formatter<'_>) -> Result {
        let PartReport { name, finding } = part;
        let label = Label(&self.name, name);
        if let Some(overflow) = &finding.overflow {
            write!(f, "; {label}")?;
            place(overflow, f)?;
            counts(finding, f)?;
            f.write_str(if self.skipped { "" } else { ", left out of the sum" })?;
        }
        // The sum of a window in which every micro-batch was left out lacks all gradients, which is not a mistake.
        let is_told = !(part.is_sum() && self.skipped);
        if is_told && !finding.missing.is_empty() {
            write!(f, "; {label}no gradient for {}", finding.missing.join(", "))?;
        }
        if finding.halted {
            // A state may be set after the halt.
            let why =
                if diverged { "since the run had diverged" } else { "as its scale was set to" };
            write!(f, "; {label}halted, {why}")?;
        }
        Ok(())
    }
}

/// `decoder.weight[17] of rank 3 is +inf`; a norm has no index, and one device no rank.
fn place(overflow: &Overflow, f: &mut Formatter<'_>) -> Result {
    let Overflow { parameter, index, rank, .. } = overflow;
    let rank = rank.map_or(String::new(), |rank| format!(" of rank {rank}"));
    if **parameter == *FoundInf::NORM {
        write!(f, "the {parameter}{rank} is {}", overflow.what())?;
    } else {
        write!(f, "{parameter}[{index}]{rank} is {}", overflow.what())?;
    }
    if overflow.scaled.is_finite() {
        write!(f, " once unscaled ({} before)", scientific(overflow.scaled))?;
    }
    Ok(())
}

fn counts(finding: &FoundInf, f: &mut Formatter<'_>) -> Result {
    let FoundInf { infinities, nans, magnitude, .. } = finding;
    match infinities + nans {
        0 => Ok(()),
        _ => write!(
            f,
            " ({infinities} infinite, {nans} NaN, largest finite {})",
            scientific(*magnitude)
        ),
    }
}

/// Returns a number in scientific notation, without an exponent of 0.
fn scientific(value: f32) -> String {
    let text = format!("{value:e}");
    text.strip_suffix("e0").map_or_else(|| text.clone(), Into::into)
}

/// An optimizer's and a part's name, as far as they have one, and a colon.
struct Label<'a>(&'a str, &'a str);

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self(step, part) = *self;
        f.write_str(step)?;
        f.write_str(if step.is_empty() || part.is_empty() { "" } else { ", " })?;
        f.write_str(part)?;
        f.write_str(if step.is_empty() && part.is_empty() { "" } else { ": " })
    }
}

impl fmt::Display for ScaleState {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { exponent, good_steps, skipped, updates, .. } = *self;
        write!(f, "scale {}, {good_steps} good steps, ", Factor(exponent, self))?;
        write!(f, "{skipped} of {updates} updates skipped")?;
        f.write_str(if self.diverged { ", diverged" } else { "" })
    }
}

/// The scale at an exponent: as torch prints it where that is short, else as a power.
struct Factor<'a>(i32, &'a ScaleState);

impl fmt::Display for Factor<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self(exponent, state) = *self;
        let value = ScaleState { exponent, ..*state }.factor();
        if state.is_exact() && !(-3..=24).contains(&exponent) {
            return write!(f, "2^{exponent}");
        }
        write!(f, "{value}")
    }
}
