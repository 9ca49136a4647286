//! Our behaviour, compared with what a fact says.

use crate::replay::error::{Wrong, same};
use binade_interchange::protocol::ProtocolError;
use serde_json::Value;

/// Result of running a fact.
#[derive(Debug)]
pub(super) enum Answer {
    /// The words that were recorded, or that they begin with where an explanation in parentheses follows.
    Text(String),
    Value(Value),
    /// The class and the beginning of the message that were recorded.
    Raised(ProtocolError),
    /// Of each of several calls.
    Calls(Vec<Result<(), ProtocolError>>),
}

impl Answer {
    pub(super) fn compare(&self, recorded: &Value) -> Result<(), Wrong> {
        let text = recorded.as_str().unwrap_or_default();
        match self {
            Self::Value(value) => same("it", value, recorded),
            Self::Text(ours) if begins(text, ours) => Ok(()),
            Self::Text(ours) => same("it", &Value::from(ours.clone()), recorded),
            Self::Raised(error) if raises(text.strip_prefix("raises "), error) => Ok(()),
            Self::Raised(error) => {
                let ours = format!("raises {}: {error}", error.exception());
                same("it", &Value::from(ours), recorded)
            }
            Self::Calls(calls) => compare_calls(calls, recorded),
        }
    }
}

fn begins(text: &str, ours: &str) -> bool {
    let after = text.strip_prefix(ours);
    after.is_some_and(|after| after.is_empty() || after.starts_with(" (") && after.ends_with(')'))
}

/// Returns true if the words are of this class, and of a message that ours begins with.
fn raises(text: Option<&str>, error: &ProtocolError) -> bool {
    let message = text.and_then(|text| text.strip_prefix(error.exception())?.strip_prefix(": "));
    message.is_some_and(|message| !message.is_empty() && error.to_string().starts_with(message))
}

fn compare_calls(calls: &[Result<(), ProtocolError>], recorded: &Value) -> Result<(), Wrong> {
    let none = Vec::new();
    let recorded = recorded.as_array().unwrap_or(&none);
    same("the number of calls", &calls.len(), &recorded.len())?;
    for (i, (call, was)) in calls.iter().zip(recorded).enumerate() {
        let text = was.as_str();
        let agrees = match call {
            Ok(()) => text == Some("ok"),
            Err(error) => raises(text, error),
        };
        if !agrees {
            return Err(Wrong::Result(format!("call {i} gives {call:?}, and gave {was}")));
        }
    }
    Ok(())
}
