//! The scale's move after an iteration, sentence by sentence of `LossScale`'s documentation.

mod log_max;

use binade_grad_scaler::{LossScale, ScaleState, Seen, Tolerance};

/// The state after an iteration in which this was seen.
pub fn update(rule: &LossScale, old: &ScaleState, seen: Seen) -> ScaleState {
    let mut new = *old;
    new.before = old.exponent;

    // Every update counts, on a run that has diverged too.
    new.updates = old.updates + 1;
    if seen.overflow {
        new.overflows = old.overflows + 1;
    }
    if seen.skipped {
        new.skipped = old.skipped + 1;
    }
    new.bad_steps = if seen.skipped { old.bad_steps + 1 } else { 0 };

    // Divergence latches: nothing moves any more.
    if old.diverged {
        return new;
    }

    new.since_move = old.since_move + 1;
    if seen.overflow {
        overflow(rule, &mut new);
    } else {
        good(rule, &mut new);
    }

    // "With `log_max` the scale is what that predicts, at every update; growth and backoff move nothing."
    if let Some(predicts) = &rule.log_max {
        log_max::learn(predicts, &mut new, seen);
        let predicted = log_max::exponent(predicts, &new);
        new.exponent = predicted.map_or(old.exponent, |exponent| within(exponent, rule, &new));
    }
    new
}

fn overflow(rule: &LossScale, new: &mut ScaleState) {
    // "An overflow at the lowest scale, or `patience` skips in a row, is divergence and not another halving."
    if new.bad_steps >= rule.patience {
        new.diverged = true;
    }
    // "An overflow that `tolerance` lets pass skips its step, counts no good steps on, and leaves the scale."
    new.good_steps = 0;
    new.tolerated += 1;
    if passes(rule.tolerance, new) {
        return;
    }
    let may_fall = rule.backoff_exponent > 0 || rule.log_max.is_some();
    if may_fall && new.exponent <= rule.min_exponent {
        new.diverged = true;
    }
    new.exponent = within((new.exponent - rule.backoff_exponent).into(), rule, new);
    new.since_move = 0;
    // "From the `overflows`-th … on, each backs off" but for "each `overflows`-th in a row" and "since the last step down".
    let stays_spent =
        matches!(rule.tolerance, Tolerance::UntilGoodStep { .. } | Tolerance::UntilGrowth { .. });
    if !stays_spent {
        new.tolerated = 0;
    }
}

fn good(rule: &LossScale, new: &mut ScaleState) {
    new.good_steps += 1;
    match rule.tolerance {
        // "Since the scale last grew"; "since the last step down".
        Tolerance::UntilGrowth { .. } | Tolerance::Share { .. } => {}
        // "Since the last good step"; "in a row".
        _ => new.tolerated = 0,
    }
    if rule.growth_exponent > 0 && new.good_steps >= rule.growth_interval {
        new.exponent = within((new.exponent + rule.growth_exponent).into(), rule, new);
        new.good_steps = 0;
        // "A growth restarts the updates of" a share "and not the overflows".
        new.since_move = 0;
        if !matches!(rule.tolerance, Tolerance::Share { .. }) {
            new.tolerated = 0;
        }
    }
}

/// Whether the overflow that was counted last is let pass.
fn passes(tolerance: Tolerance, new: &ScaleState) -> bool {
    match tolerance {
        Tolerance::None => false,
        Tolerance::UntilGoodStep { overflows }
        | Tolerance::UntilGrowth { overflows }
        | Tolerance::InARow { overflows } => new.tolerated < overflows,
        // Both are exact in f64.
        Tolerance::Share { of_65536 } => {
            let least = f64::from(of_65536) * f64::from(new.since_move);
            f64::from(new.tolerated) * 65536.0 < least
        }
    }
}

/// "Whatever happens, the exponent that a rule moves to is within `min..=max` and ±126", and a scale above a power of two
/// has a normal inverse too.
fn within(exponent: i64, rule: &LossScale, new: &ScaleState) -> i32 {
    let highest = if new.significand > 1.0 { 125 } else { 126 };
    let (min, max) = (rule.min_exponent.max(-126), rule.max_exponent.min(highest));
    if exponent < min.into() {
        min
    } else if exponent > max.into() {
        max
    } else {
        i32::try_from(exponent).unwrap_or(max)
    }
}
