//! How other libraries move a loss scale and what they save of it, held to [`LossScale::next`] and to
//! [`binade_interchange`].

mod format;
mod log_max;
mod rules;
mod states;

pub(super) use format::Recorded;

use super::bits::narrow;
use super::differences::Difference;
use super::error::{ReplayError, Wrong, same};
use super::notes::Notes;
use binade_grad_scaler::{LossScale, ScaleState, UpdateInputs};
use binade_interchange::FirstGrowth;
use format::Run;
use rules::MAX_EXPONENT;

pub(super) fn replay(recorded: &Recorded, notes: &mut Notes) -> Result<(), ReplayError> {
    for (i, run) in recorded.runs.iter().enumerate() {
        let at = |wrong: Wrong| wrong.at(format!("run {i} of {}", recorded.library));
        replay_run(recorded, run, notes).map_err(at)?;
    }
    Ok(())
}

fn replay_run(recorded: &Recorded, run: &Run, notes: &mut Notes) -> Result<(), Wrong> {
    let rule = rules::of(recorded, &run.rule)?;
    if rule.log_max.is_some() {
        return log_max::replay(run, &rule, notes);
    }
    let first = rules::first_growth(recorded, &run.rule);
    let walk = Walk { run, overflows: run.overflows()?, rule, first };
    let states = walk.from(0, start(run)?, notes)?;
    notes.compared(format!("runs of {}", recorded.library), 1);
    // Each saved state leads on as the run itself did.
    for saved in &run.saved {
        let Some(own) = states.get(saved.after) else {
            notes.skipped("states saved after a scale out of our reach", 1);
            continue;
        };
        let at = |wrong: Wrong| wrong.within(saved.after);
        let imported = states::import(recorded, run, saved, own).map_err(at)?;
        let resumed = Walk { rule: imported.rule, overflows: walk.overflows.clone(), ..walk };
        resumed.from(saved.after, imported.state, notes)?;
        notes.compared(format!("states of {} imported, exported and resumed", recorded.library), 1);
    }
    Ok(())
}

/// The state at the recorded scale, which may have a significand.
fn start(run: &Run) -> Result<ScaleState, Wrong> {
    let scale = run.scale.first().copied().flatten().map(narrow);
    let state = scale.and_then(ScaleState::import);
    state.ok_or_else(|| Wrong::Recording("it starts at no scale in our reach".into()))
}

/// A run by one rule.
struct Walk<'a> {
    run: &'a Run,
    overflows: Vec<bool>,
    rule: LossScale,
    first: FirstGrowth,
}

impl Walk<'_> {
    /// The state before each step from this one on, to the end or to where the library leaves our limits.
    fn from(
        &self,
        from: usize,
        mut state: ScaleState,
        notes: &mut Notes,
    ) -> Result<Vec<ScaleState>, Wrong> {
        let mut states = Vec::new();
        for t in from..self.overflows.len() {
            states.push(state);
            let next = self.next(t, state, notes);
            let Some(now) = self.compared(t, next, notes).map_err(|wrong| wrong.within(t))? else {
                return Ok(states);
            };
            state = now;
            notes.compared("steps of a scale", 1);
        }
        Ok(states)
    }

    fn next(&self, t: usize, state: ScaleState, notes: &mut Notes) -> ScaleState {
        let overflow = self.overflows[t];
        let mut next =
            self.rule.next(state, UpdateInputs { overflow, skipped: overflow, magnitude: 0.0 });
        let is_first = t == 0 || self.overflows[t - 1];
        if self.first == FirstGrowth::AfterWindowAndOne && is_first && !overflow {
            // The step that DeepSpeed does not count, so that all else can be compared.
            next.good_steps = 0;
            notes.differs(Difference::FirstGoodStepCounts);
        }
        next
    }

    /// Ours where it is theirs; `None` where the run ends for us: it raised, or left the limits of exact scales.
    fn compared(
        &self,
        t: usize,
        mut next: ScaleState,
        notes: &mut Notes,
    ) -> Result<Option<ScaleState>, Wrong> {
        let Some(theirs) = self.run.scale.get(t + 1) else {
            same("whether the run has diverged where theirs raised", &next.diverged, &true)?;
            notes.compared("runs that end where the library raises", 1);
            return Ok(None);
        };
        let theirs = theirs.unwrap_or(f64::INFINITY);
        if let Some((how, limit)) = beyond(theirs, &next) {
            same("the exponent of the limit", &next.exponent, &limit)?;
            notes.differs(how);
            return Ok(None);
        }
        same("the scale", &f64::from(next.factor()), &theirs)?;
        if next.diverged {
            same("the floor", &next.exponent, &self.rule.min_exponent)?;
            notes.differs(Difference::OverflowAtTheFloor);
            next.diverged = false;
        }
        Ok(Some(next))
    }
}

/// Returns the difference and the exponent that ours stays at, if their scale is out of our reach.
fn beyond(theirs: f64, ours: &ScaleState) -> Option<(Difference, i32)> {
    let top = if ours.significand > 1.0 { MAX_EXPONENT - 1 } else { MAX_EXPONENT };
    let exponent = theirs.log2().floor();
    if exponent < f64::from(-MAX_EXPONENT) {
        return Some((Difference::ScaleBelow2ToMinus126, -MAX_EXPONENT));
    }
    (exponent > f64::from(top)).then_some((Difference::ScaleBeyond2To126, top))
}
