//! Scalers' states as other libraries save them, in JSON: carried on here, or refused with the key.

use binade_grad_scaler::{LossScale, UpdateInputs};
use binade_interchange::protocol::StateDict;
use binade_interchange::{
    ApexState, DeepSpeedFusedState, DeepSpeedState, FirstGrowth, Imported, InterchangeError,
    KerasState, PaddleState, TfKerasState,
};
use serde::{Serialize, de::DeserializeOwned};

pub(super) fn read(bytes: &[u8]) {
    let rule = LossScale::dynamic();
    go_on(saved::<StateDict>(bytes).map(|saved| saved.import()));
    go_on(saved::<PaddleState>(bytes).map(|saved| saved.import()));
    go_on(saved::<KerasState>(bytes).map(|saved| saved.import(&rule)));
    go_on(saved::<TfKerasState>(bytes).map(|saved| saved.import(&rule)));
    go_on(saved::<DeepSpeedFusedState>(bytes).map(|saved| saved.import(&rule)));
    for first in [FirstGrowth::AfterWindow, FirstGrowth::AfterWindowAndOne] {
        go_on(saved::<DeepSpeedState>(bytes).map(|saved| saved.import(first)));
    }
    if let Some(Ok(losses)) = saved::<ApexState>(bytes).map(|saved| saved.import(&rule)) {
        go_on(losses.into_iter().map(Ok));
    }
}

/// Reads a library's saved state, if it is one: equal once it is written and read again.
fn saved<S: Serialize + DeserializeOwned + PartialEq>(bytes: &[u8]) -> Option<S> {
    let saved: S = serde_json::from_slice(bytes).ok()?;
    let written = serde_json::to_string(&saved).ok()?;
    assert!(serde_json::from_str::<S>(&written).is_ok_and(|again| again == saved), "{written}");
    Some(saved)
}

/// Continues the runs that were imported.
fn go_on(imported: impl IntoIterator<Item = Result<Imported, InterchangeError>>) {
    for Imported { rule, state, .. } in imported.into_iter().flatten() {
        let next = rule.next(state, UpdateInputs { overflow: true, skipped: true, magnitude: 1.0 });
        let next = rule.next(next, UpdateInputs::default());
        assert!(next.factor().is_normal() && next.inverse().is_normal(), "{next:?}");
    }
}
