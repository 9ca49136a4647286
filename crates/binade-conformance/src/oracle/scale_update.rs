//! The scale's move after an iteration, sentence by sentence of `LossScale`'s documentation.

use binade_grad_scaler::{LossScale, ScaleState};

/// The state after an iteration in which `overflow` was seen and a step was `skipped`.
pub fn update(rule: &LossScale, old: &ScaleState, overflow: bool, skipped: bool) -> ScaleState {
    let mut new = *old;
    new.before = old.exponent;

    // Every update counts, on a run that has diverged too.
    new.updates = old.updates + 1;
    if overflow {
        new.overflows = old.overflows + 1;
    }
    if skipped {
        new.skipped = old.skipped + 1;
    }
    new.bad_steps = if skipped { old.bad_steps + 1 } else { 0 };

    // Divergence latches: nothing moves any more.
    if old.diverged {
        return new;
    }

    if overflow {
        // "An overflow at the lowest scale, or `patience` skips in a row, is divergence and not another halving."
        let may_fall = rule.backoff > 0;
        if (may_fall && old.exponent <= rule.min) || new.bad_steps >= rule.patience {
            new.diverged = true;
        }
        new.exponent = within(old.exponent - rule.backoff, rule);
        new.good_steps = 0;
    } else {
        new.good_steps = old.good_steps + 1;
        if rule.growth > 0 && new.good_steps >= rule.growth_interval {
            new.exponent = within(old.exponent + rule.growth, rule);
            new.good_steps = 0;
        }
    }
    new
}

/// "Whatever happens, the exponent stays within `min..=max`."
fn within(exponent: i32, rule: &LossScale) -> i32 {
    if exponent < rule.min {
        rule.min
    } else if exponent > rule.max {
        rule.max
    } else {
        exponent
    }
}
