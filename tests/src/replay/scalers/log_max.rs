//! A rule that predicts: our exponent is the binade of their scale, but where theirs is on the edge of one.

use super::super::bits::narrow;
use super::super::differences::Difference;
use super::super::error::Wrong;
use super::super::notes::Notes;
use super::format::Run;
use binade_grad_scaler::{LossScale, UpdateInputs};

/// Distance from an integer within which the logarithm of their scale allows ours to be in the next binade.
const EDGE: f64 = 0.01;

/// Bound for the first steps, of [`YOUNG`]: a weight of .001 leaves few bits of a fixed-point average, and a deviation
/// near 0 is the root of what is lost.
const YOUNG_EDGE: f64 = 0.15;

/// Steps in which the averages are young.
const YOUNG: usize = 16;

pub(super) fn replay(run: &Run, rule: &LossScale, notes: &mut Notes) -> Result<(), Wrong> {
    let (overflows, mut state) = (run.overflows()?, rule.start());
    // The source counts an overflow as 2 to the power of the ceiling, where the ceiling's logarithm is meant.
    let literal = run.rule.number("overflow_counts")? != 16.0;
    for (t, &overflow) in overflows.iter().enumerate() {
        if literal && overflow {
            notes.differs(Difference::OverflowIsTheCeiling);
            return Ok(());
        }
        let magnitude = run.magnitude.get(t).copied().flatten().unwrap_or_default();
        let magnitude = narrow(magnitude) * state.factor();
        state = rule.next(state, UpdateInputs { overflow, skipped: overflow, magnitude });
        state.diverged = false;
        let theirs = run.scale[t + 1].unwrap_or(f64::INFINITY).log2();
        let edge = if t < YOUNG { YOUNG_EDGE } else { EDGE };
        agrees(state.exponent, theirs, edge, notes).map_err(|wrong| wrong.within(t))?;
    }
    Ok(())
}

fn agrees(exponent: i32, theirs: f64, edge: f64, notes: &mut Notes) -> Result<(), Wrong> {
    if f64::from(exponent) == theirs.floor() {
        notes.compared("exponents predicted as by log_max", 1);
        return Ok(());
    }
    let nearest = theirs.round();
    let is_next = f64::from(exponent) == nearest || f64::from(exponent) == nearest - 1.0;
    if is_next && (theirs - nearest).abs() <= edge {
        notes.compared("exponents of the neighbouring binade, on the edge of it", 1);
        return Ok(());
    }
    Err(Wrong::Result(format!("the scale is 2^{exponent}, and was 2^{theirs}")))
}
