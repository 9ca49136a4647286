//! Facts that are not run: what `docs/semantics.md` says of each, and what torch 2.15 was recorded saying.

use super::Recorded;
use crate::replay::error::{ReplayError, Wrong, same};
use crate::replay::read;
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/semantics.md");
const RECORDED: &[u8] = include_bytes!("../../../data/golden/semantics.json.gz");

/// Facts with numbers of random weights and gradients, which differ between recordings.
const RANDOM: [&str; 2] =
    ["unscaling: multiply by reciprocal or divide", "weight changed inside the region"];

/// Entry of the page about a fact.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Listed {
    /// A row: the same here, held by a test.
    Held,
    /// A row: another on purpose, held by a test.
    Differs,
    /// A line of a list: there is no such thing here.
    Absent,
}

/// Every fact on the page.
pub(super) fn listed() -> impl Iterator<Item = (&'static str, Listed)> {
    PAGE.lines().filter_map(|line| {
        if let Some((name, _)) = line.strip_prefix("- `").and_then(|rest| rest.split_once("`: ")) {
            return Some((name, Listed::Absent));
        }
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        let differs = !rest.starts_with("the same");
        Some((name, if differs { Listed::Differs } else { Listed::Held }))
    })
}

/// Returns what torch 2.15 was recorded saying.
pub(super) fn recorded() -> Result<Recorded, ReplayError> {
    Ok(serde_json::from_value(read::packed(RECORDED)?)?)
}

/// Passes where the fact is as torch 2.15 has it.
pub(super) fn as_torch_2_15(name: &str, fact: &Value) -> Result<(), Wrong> {
    let known = recorded().map_err(|error| Wrong::Recording(error.to_string()))?;
    match known.facts.get(name) {
        Some(known) if RANDOM.contains(&name) => {
            same("it", &without_numbers(known), &without_numbers(fact))
        }
        Some(known) => same("torch 2.15 has it that it", known, fact),
        None => Err(Wrong::Recording("torch 2.15 was not asked this".into())),
    }
}

fn without_numbers(value: &Value) -> String {
    let text = value.to_string();
    let words = text.split(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("#")
}
