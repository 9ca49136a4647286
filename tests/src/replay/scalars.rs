//! Scalars are written twice, as a decimal for people and as bits: where the two disagree, one was changed.

use super::bits::Num;
use super::error::ReplayError;
use serde::Deserialize;
use serde_json::Value;

/// Fault, and its place from here: steps of a path, the last first.
type Found = (Vec<String>, String);

/// Passes where every decimal of the recording is the number beside it.
pub(super) fn agree(recording: &Value) -> Result<(), ReplayError> {
    below(recording).map_err(|(mut steps, what)| {
        steps.reverse();
        ReplayError::Format { at: steps.join("/"), what }
    })
}

fn below(value: &Value) -> Result<(), Found> {
    match value {
        Value::Array(items) => {
            let mut items = items.iter().enumerate().filter(|(_, item)| !item.is_number());
            items.try_for_each(|(i, item)| below(item).map_err(|found| within(&i, found)))
        }
        Value::Object(map) => {
            scalar(value).map_err(|what| (Vec::new(), what))?;
            map.iter().try_for_each(|(key, item)| below(item).map_err(|found| within(key, found)))
        }
        _ => Ok(()),
    }
}

fn within(step: &impl ToString, (mut steps, what): Found) -> Found {
    steps.push(step.to_string());
    (steps, what)
}

fn scalar(value: &Value) -> Result<(), String> {
    let (Some(written), Some(_)) = (value.get("dec"), value.get("f64")) else { return Ok(()) };
    let bits = Num::deserialize(value).map_err(|error| error.to_string())?.0;
    let decimal = written.as_str().and_then(|text| text.parse::<f64>().ok());
    let is_same = |x: f64| x.to_bits() == bits.to_bits() || x.is_nan() && bits.is_nan();
    if decimal.is_some_and(is_same) {
        return Ok(());
    }
    Err(format!("its bits are of {bits:e}, and its decimal is {written}"))
}
