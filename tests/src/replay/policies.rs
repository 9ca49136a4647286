//! jmp's policy strings: what each means, and which are refused for what.

use super::differences::Difference;
use super::dtype::named;
use super::error::{ReplayError, Wrong, same};
use super::notes::Notes;
use binade_cast_policy::{CastRule, OpCall};
use binade_core::{DType, Op};
use binade_interchange::{DTypePolicy, DTypePolicyError};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Answer of `get_policy` to a string.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Answer {
    Refused {
        err: String,
    },
    Policy {
        param: String,
        compute: String,
        output: String,
        /// As jmp writes it.
        str: String,
    },
}

pub(super) fn replay(
    policies: &BTreeMap<String, Answer>,
    notes: &mut Notes,
) -> Result<(), ReplayError> {
    for (text, answer) in policies {
        answer.compare(text).map_err(|wrong| wrong.at(format!("policy string '{text}'")))?;
        notes.compared("policy strings", 1);
    }
    Ok(())
}

/// Types cast to what the policy `text` computes in.
pub(super) fn casts(
    text: &str,
    casts: &BTreeMap<String, String>,
    notes: &mut Notes,
) -> Result<(), ReplayError> {
    for (from, to) in casts {
        cast(text, from, to, notes)
            .map_err(|wrong| wrong.at(format!("cast of {from} by '{text}'")))?;
    }
    Ok(())
}

fn cast(text: &str, from: &str, to: &str, notes: &mut Notes) -> Result<(), Wrong> {
    let policy = text.parse::<DTypePolicy>().map_err(|e| Wrong::Result(e.to_string()))?;
    let Ok(given) = named(from) else {
        notes.skipped("casts of what is no element type here", 1);
        return Ok(());
    };
    let operands = [given];
    let call = OpCall::new(Op::MATMUL, &operands);
    let decision = CastRule::To(policy.compute).decide(&call, policy.compute);
    let cast = decision.map_err(|e| Wrong::Result(e.to_string()))?.cast(given);
    if given == DType::F64 && cast.is_none() {
        notes.differs(Difference::F64IsNeverCast);
        return same("jmp's type", &policy.compute, &named(to)?);
    }
    same("the type", &cast.unwrap_or(given), &named(to)?)?;
    notes.compared("casts by a policy string", 1);
    Ok(())
}

impl Answer {
    fn compare(&self, text: &str) -> Result<(), Wrong> {
        let ours = text.parse::<DTypePolicy>();
        match self {
            Self::Refused { err } => same("the refusal", &ours.err().map(as_jmp), &Some(kind(err))),
            Self::Policy { param, compute, output, str } => {
                let (params, compute, output) = (named(param)?, named(compute)?, named(output)?);
                same("the policy", &ours, &Ok(DTypePolicy { params, compute, output }))?;
                same("as text it", &ours.map(|policy| policy.to_string()), &Ok(str.clone()))
            }
        }
    }
}

/// The beginning of jmp's message, up to what it quotes; Python's own words where a part does not split in two.
fn as_jmp(error: DTypePolicyError) -> String {
    match error {
        DTypePolicyError::UnknownDType { value, .. } => format!("Unknown dtype '{value}'"),
        DTypePolicyError::UnknownKey { key, .. } => format!("Unknown key '{key}'"),
        DTypePolicyError::Malformed { part, .. } if part.contains('=') => "too many values".into(),
        DTypePolicyError::Malformed { .. } => "not enough values".into(),
        other => other.to_string(),
    }
}

/// Returns the kind of a recorded message.
fn kind(err: &str) -> String {
    let message = err.strip_prefix("ValueError: ").unwrap_or(err);
    if message.starts_with("Unknown ") {
        message.split_inclusive('\'').take(2).collect()
    } else {
        message.split(" to unpack").next().unwrap_or_default().into()
    }
}
