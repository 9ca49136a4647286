//! A library's saved state: imported, and written back as it was.

use super::super::error::{Wrong, same};
use super::format::{Recorded, Rule, Run, SavedAt};
use super::rules;
use binade_grad_scaler::{LossScale, ScaleState};
use binade_interchange::protocol::StateDict;
use binade_interchange::{
    ApexState, DeepSpeedFusedState, DeepSpeedState, Dictionary, FirstGrowth, Imported,
    InterchangeError, KerasState, PaddleState, Saved, TfKerasState, Value,
};
use serde::Deserialize;

type Read = Result<(Imported, Dictionary), InterchangeError>;

/// Reads a dictionary as the state of a library, imports it, and writes our own state under the imported rule as that library's.
macro_rules! through {
    ($state:ty, $given:expr, $import:ident($($with:expr),*), |$rule:ident| $export:ident($($of:expr),*)) => {
        (|| -> Read {
            let imported = <$state>::read($given)?.$import($($with),*)?;
            let $rule = &imported.rule;
            let written = <$state>::$export($($of),*)?.saved.write();
            Ok((imported, written))
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
    let dictionary = Dictionary::deserialize(&saved.state);
    let dictionary = dictionary.map_err(|error| Wrong::Recording(error.to_string()))?;
    let rule = rules::of(recorded, &run.rule)?;
    let first = rules::first_growth(recorded, &run.rule);
    let (given, one) = (&dictionary, std::slice::from_ref(own));
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
        &counted(dictionary, window, first),
    )?;
    let rule = imported.rule.with_patience(u32::MAX);
    Ok(Imported { rule, ..imported })
}

fn apex(dictionary: &Dictionary, rule: &LossScale, own: &[ScaleState]) -> Read {
    let imported = ApexState::read(dictionary)?.import(rule)?.remove(0);
    let written = ApexState::export(rule, own)?.saved.write();
    Ok((imported, written))
}

fn zero(dictionary: &Dictionary, made: &Rule, first: FirstGrowth, own: &ScaleState) -> Read {
    let imported = DeepSpeedState::read(dictionary)?.import(first)?;
    let mut written = DeepSpeedState::export(&imported.rule, own, first)?.saved;
    // Here it always does, which the import notes.
    written.raise_error_at_min_scale = !made.is_unset("raise_error_at_min_scale");
    Ok((imported, written.write()))
}

/// DeepSpeed's good steps modulo the window, in place of the iteration that they are counted from. Where the first growth
/// takes one more, none of them and a whole window are not the same.
fn counted(mut dictionary: Dictionary, window: i64, first: FirstGrowth) -> Dictionary {
    let of = |key: &str| match dictionary.0.get(key) {
        Some(Value::Integer(iteration)) => Some(*iteration),
        _ => None,
    };
    if let (Some(now), Some(last)) = (of("cur_iter"), of("last_overflow_iter")) {
        let good = now - last - 1;
        let counted = match first {
            FirstGrowth::AfterWindowAndOne if good > 0 => (good - 1) % window + 1,
            _ => good % window,
        };
        dictionary.0.insert("last_overflow_iter".into(), Value::Integer(counted));
    }
    dictionary
}
