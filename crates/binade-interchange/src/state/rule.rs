//! Common parts of the libraries' rules: an interval, limits, and the overflows at which they back off.

use super::numbers::{self, MAX_EXPONENT};
use super::{Imported, InterchangeError};
use binade_grad_scaler::{LossScale, ScaleState, Tolerance};

/// Returns a rule that starts at `state`, with limits that include the state's scale.
pub(super) fn imported(mut rule: LossScale, state: ScaleState, mut notes: Vec<String>) -> Imported {
    let exponent = state.exponent;
    if !(rule.min_exponent..=rule.max_exponent).contains(&exponent) {
        notes.push(format!("the rule's limits were widened to the scale's 2^{exponent}"));
    }
    rule.init_exponent = exponent;
    rule.min_exponent = rule.min_exponent.min(exponent);
    rule.max_exponent = rule.max_exponent.max(exponent);
    Imported { rule, state, notes }
}

/// Sets the growth interval, which may be one that is never reached.
pub(super) fn set_interval(
    rule: &mut LossScale,
    key: &str,
    interval: i64,
    notes: &mut Vec<String>,
) -> Result<(), InterchangeError> {
    if interval <= 0 {
        rule.growth_exponent = 0;
        notes.push(format!(
            "`{key}` is {interval}, which no count of steps meets: the scale never grows"
        ));
        return Ok(());
    }
    rule.growth_interval = numbers::count(key, interval, 1)?;
    Ok(())
}

/// Returns the good steps so far, for a rule whose interval is set.
pub(super) fn good_steps(
    rule: &LossScale,
    key: &str,
    counted: i64,
    notes: &mut Vec<String>,
) -> Result<u32, InterchangeError> {
    let good_steps = numbers::count(key, counted, 0)?;
    if rule.growth_exponent > 0 && good_steps >= rule.growth_interval {
        notes.push(format!(
            "`{key}` is {counted}, not below the interval of {}: here the scale grows at the next good step",
            rule.growth_interval
        ));
    }
    Ok(good_steps)
}

/// Returns an error if the rule predicts or has a tolerance.
pub(super) fn backs_off_at_once(
    library: &'static str,
    rule: &LossScale,
) -> Result<(), InterchangeError> {
    counts(library, rule)?;
    match rule.tolerance {
        Tolerance::None
        | Tolerance::Share { of_65536: 0 }
        | Tolerance::UntilGoodStep { overflows: 0 | 1 }
        | Tolerance::UntilGrowth { overflows: 0 | 1 }
        | Tolerance::InARow { overflows: 0 | 1 } => Ok(()),
        other => refused(library, format!("it tolerates overflows ({other:?})")),
    }
}

/// Returns an error if the rule predicts.
pub(super) fn counts(library: &'static str, rule: &LossScale) -> Result<(), InterchangeError> {
    match rule.log_max {
        Some(_) => refused(library, "it predicts the scale (log_max)".into()),
        None => Ok(()),
    }
}

/// Returns an error unless the rule doubles and halves, or never changes the scale, for libraries that have only such rules.
pub(super) fn moves_by_one(
    library: &'static str,
    rule: &LossScale,
) -> Result<(), InterchangeError> {
    match (rule.growth_exponent.max(0), rule.backoff_exponent.max(0)) {
        (0, 0) | (1, 1) => Ok(()),
        (up, down) => refused(library, format!("it moves by {up} binades up and {down} down")),
    }
}

pub(super) fn refused<T>(library: &'static str, what: String) -> Result<T, InterchangeError> {
    Err(InterchangeError::Rule { library, what })
}

/// Returns the notes for a library that saves no limits; `floor` is the library's built-in floor.
pub(super) fn notes(rule: &LossScale, state: &ScaleState, floor: Option<i32>) -> Vec<String> {
    let mut notes = Vec::new();
    let min = floor.unwrap_or(-MAX_EXPONENT);
    if rule.min_exponent > min || rule.max_exponent < MAX_EXPONENT {
        let (min, max) = (rule.min_exponent, rule.max_exponent);
        notes.push(format!("the limits 2^{min}..=2^{max} are not part of what is saved"));
    }
    if state.diverged {
        notes.push("the run has diverged, and the library goes on with it".into());
    }
    notes
}

/// Returns the note of a value that the other side cannot store.
pub(super) fn left_aside(key: &str, why: &str) -> String {
    format!("`{key}` is left aside: {why}")
}

/// Returns an error unless the rule doubles, and halves at each overflow: Apex and Keras have only such rules.
pub(super) fn doubles_and_halves(
    library: &'static str,
    rule: &LossScale,
) -> Result<(), InterchangeError> {
    moves_by_one(library, rule)?;
    backs_off_at_once(library, rule)
}

/// Imports a scale and a count of good steps, with their keys, for a library that saves nothing else.
pub(super) fn import_pair(
    rule: &LossScale,
    (key, scale): (&str, f64),
    (counter, steps): (&str, i64),
) -> Result<Imported, InterchangeError> {
    let mut notes = Vec::new();
    let state = numbers::scale(key, scale, &mut notes)?;
    let good_steps = good_steps(rule, counter, steps, &mut notes)?;
    Ok(imported(*rule, ScaleState { good_steps, ..state }, notes))
}
