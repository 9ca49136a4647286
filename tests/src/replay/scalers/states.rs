//! A library's saved state: imported, and written back as it was.

use super::super::error::{Wrong, same};
use super::format::{Recorded, Rule, Run, SavedAt};
use super::rules;
use binade_grad_scaler::{LossScale, ScaleState};
use binade_interchange::protocol::StateDict;
use binade_interchange::{
    ApexState, DeepSpeedFusedState, DeepSpeedState, FirstGrowth, Imported, KerasState, PaddleState,
    TfKerasState,
};
use serde::Deserialize;
use serde_json::{Value, json};

type Read = Result<(Imported, Value), Box<dyn std::error::Error>>;

/// Reads a dictionary as the state of a library, imports it, and writes our own state under the imported rule as that library's.
macro_rules! through {
    ($state:ty, $given:expr, $import:ident($($with:expr),*), |$rule:ident| $export:ident($($of:expr),*)) => {
        (|| -> Read {
            let imported = <$state>::deserialize($given)?.$import($($with),*)?;
            let $rule = &imported.rule;
            let written = <$state>::$export($($of),*)?.saved;
            Ok((imported, json!(written)))
        })()
    };
}

/// Imports a saved state, which must be what our own run has come to, and be written back as it was.
pub(super) fn import(
    recorded: &Recorded,
    run: &Run,
    saved: &SavedAt,
    own: &ScaleState,
) -> Result<Imported, Wrong> {
    let rule = rules::of(recorded, &run.rule)?;
    let first = rules::first_growth(recorded, &run.rule);
    let (given, one) = (&saved.state, std::slice::from_ref(own));
    let read = match recorded.library.as_str() {
        "torch" => through!(StateDict, given, import(), |rule| export(rule, own)),
        "keras" => through!(KerasState, given, import(&rule), |rule| export(rule, own)),
        "tf_keras" => through!(TfKerasState, given, import(&rule), |rule| export(rule, own)),
        "paddle" => through!(PaddleState, given, import(), |rule| export(rule, own)),
        "apex" => apex(given, &rule, one),
        "deepspeed" if run.rule.is_set("fused") => {
            through!(DeepSpeedFusedState, given, import(&rule), |rule| export(rule, own))
        }
        "deepspeed" => zero(given, &run.rule, first, own),
        other => return Err(Wrong::Recording(format!("states of {other} are not known here"))),
    };
    let (imported, written) = read.map_err(|error| Wrong::Result(error.to_string()))?;
    same("the imported scale", &imported.state.factor(), &own.factor())?;
    let window = i64::from(rule.growth_interval);
    same(
        "what is written back",
        &counted(written, window, first),
        &counted(given.clone(), window, first),
    )?;
    let rule = imported.rule.with_patience(u32::MAX);
    Ok(Imported { rule, ..imported })
}

fn apex(saved: &Value, rule: &LossScale, own: &[ScaleState]) -> Read {
    let imported = ApexState::deserialize(saved)?.import(rule)?.remove(0);
    Ok((imported, json!(ApexState::export(rule, own)?.saved)))
}

fn zero(saved: &Value, made: &Rule, first: FirstGrowth, own: &ScaleState) -> Read {
    let imported = DeepSpeedState::deserialize(saved)?.import(first)?;
    let mut written = DeepSpeedState::export(&imported.rule, own, first)?.saved;
    // Here it always does, which the import notes.
    written.raise_error_at_min_scale = !made.is_unset("raise_error_at_min_scale");
    Ok((imported, json!(written)))
}

/// DeepSpeed's good steps modulo the window, in place of the iteration that they are counted from. Where the first growth
/// takes one more, none of them and a whole window are not the same.
fn counted(mut state: Value, window: i64, first: FirstGrowth) -> Value {
    let (now, last) = (state["cur_iter"].as_i64(), state["last_overflow_iter"].as_i64());
    if let (Some(now), Some(last)) = (now, last) {
        let good = now - last - 1;
        let counted = match first {
            FirstGrowth::AfterWindowAndOne if good > 0 => (good - 1) % window + 1,
            _ => good % window,
        };
        state["last_overflow_iter"] = counted.into();
    }
    state
}
