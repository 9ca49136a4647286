//! jmp's policy strings: what each means, and which are refused for what.

use super::dtype::named;
use super::error::{ReplayError, Wrong, same};
use super::notes::Notes;
use binade_cast_policy::{DTypePolicy, DTypePolicyError};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What `get_policy` made of a string.
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

/// The same of a recorded message.
fn kind(err: &str) -> String {
    let message = err.strip_prefix("ValueError: ").unwrap_or(err);
    if message.starts_with("Unknown ") {
        message.split_inclusive('\'').take(2).collect()
    } else {
        message.split(" to unpack").next().unwrap_or_default().into()
    }
}
