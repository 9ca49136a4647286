//! Further questions that were asked of jmp.

use crate::replay::differences::Difference;
use crate::replay::error::{ReplayError, Wrong, same};
use crate::replay::notes::Notes;
use binade_core::FoundInf;
use binade_grad_scaler::LossScale;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) fn replay(
    facts: &BTreeMap<String, Value>,
    notes: &mut Notes,
) -> Result<(), ReplayError> {
    for (name, fact) in facts {
        compare(name, fact, notes).map_err(|wrong| wrong.at(format!("fact '{name}'")))?;
    }
    Ok(())
}

fn compare(name: &str, fact: &Value, notes: &mut Notes) -> Result<(), Wrong> {
    match name {
        "all_finite([])" => {
            same("it", &json!(!FoundInf::default().is_raised()), fact)?;
            notes.compared("facts about jmp that hold here", 1);
        }
        "min_loss_scale kept through flatten/unflatten (jit)" => {
            same("jmp's answer", &json!(false), fact)?;
            same("a limit that was written and read", &limit_comes_back()?, &true)?;
            notes.differs(Difference::LimitLostUnderJit);
        }
        _ => notes.skipped(format!("the fact '{name}', which is not known here"), 1),
    }
    Ok(())
}

/// Returns true if a rule comes back whole from where it was written.
fn limit_comes_back() -> Result<bool, Wrong> {
    let rule = LossScale::dynamic().with_limits(16.0, 16_777_216.0);
    let rule = rule.map_err(|error| Wrong::Result(error.to_string()))?;
    let back = serde_json::to_value(rule).and_then(serde_json::from_value::<LossScale>);
    Ok(back.is_ok_and(|back| back == rule))
}
