//! Scalers' states as other libraries save them, in JSON: carried on here, or refused with the key.

use binade_grad_scaler::{LossScale, UpdateInputs};
use binade_interchange::protocol::StateDict;
use binade_interchange::{
    ApexState, DeepSpeedFusedState, DeepSpeedState, Dictionary, FirstGrowth, Imported,
    InterchangeError, KerasState, PaddleState, Saved, TfKerasState,
};

pub(super) fn read(bytes: &[u8]) {
    let Ok(dictionary) = serde_json::from_slice::<Dictionary>(bytes) else { return };
    let rule = LossScale::dynamic();
    go_on(saved::<StateDict>(&dictionary).map(|saved| saved.import()));
    go_on(saved::<PaddleState>(&dictionary).map(|saved| saved.import()));
    go_on(saved::<KerasState>(&dictionary).map(|saved| saved.import(&rule)));
    go_on(saved::<TfKerasState>(&dictionary).map(|saved| saved.import(&rule)));
    go_on(saved::<DeepSpeedFusedState>(&dictionary).map(|saved| saved.import(&rule)));
    for first in [FirstGrowth::AfterWindow, FirstGrowth::AfterWindowAndOne] {
        go_on(saved::<DeepSpeedState>(&dictionary).map(|saved| saved.import(first)));
    }
    if let Some(Ok(losses)) = saved::<ApexState>(&dictionary).map(|saved| saved.import(&rule)) {
        for imported in losses {
            go_on(Some(Ok(imported)));
        }
    }
}

/// Reads a library's saved state, if it is one: equal once it is written and read again.
fn saved<S: Saved + PartialEq + std::fmt::Debug>(dictionary: &Dictionary) -> Option<S> {
    let saved = S::read(dictionary).ok()?;
    assert_eq!(S::read(&saved.write()).as_ref(), Ok(&saved), "{}", S::LIBRARY);
    Some(saved)
}

/// Continues a run that was imported.
fn go_on(imported: Option<Result<Imported, InterchangeError>>) {
    let Some(Ok(Imported { rule, state, notes, .. })) = imported else { return };
    let _ = notes.iter().map(ToString::to_string).collect::<String>();
    let next = rule.next(state, UpdateInputs { overflow: true, skipped: true, magnitude: 1.0 });
    let next = rule.next(next, UpdateInputs::default());
    assert!(next.factor().is_normal() && next.inverse().is_normal(), "{next:?}");
}
