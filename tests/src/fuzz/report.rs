//! Parts of a scaler that a log or a checkpoint holds: rules, states and reports in JSON.

use binade_grad_scaler::{LossScale, ScaleState, Step, UpdateInputs};
use serde::{Serialize, de::DeserializeOwned};

pub(super) fn read(bytes: &[u8]) {
    if let Some(step) = same::<Step>(bytes) {
        let report = step.report();
        let _ = (report.to_string(), report.overflow(), report.missing().count());
    }
    if let Some((rule, state)) = same::<(LossScale, ScaleState)>(bytes) {
        go_on(&rule, state);
    }
}

/// Any rule goes on from any state, and the scale it comes to is a number.
fn go_on(rule: &LossScale, state: ScaleState) {
    for flags in 0..4_u8 {
        let seen =
            UpdateInputs { overflow: flags & 1 != 0, skipped: flags & 2 != 0, magnitude: 3.0 };
        let next = rule.next(rule.next(state, seen), seen);
        assert!(
            next.diverged
                || (-126..=126).contains(&next.exponent)
                || next.exponent == state.exponent
        );
    }
    assert!(rule.start().factor().is_normal());
}

/// Reads `bytes`, and returns what they hold if it comes back as it was written.
fn same<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let value: T = serde_json::from_slice(bytes).ok()?;
    let written = serde_json::to_string(&value).expect("what was read can be written");
    let again: T = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(serde_json::to_string(&again).expect("as before"), written);
    Some(value)
}
