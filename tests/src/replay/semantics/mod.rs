//! Facts about torch, named: run by our torch-compatible mode, or on a page that says what is so here and where it is
//! tested.

mod answer;
mod page;
mod python;
mod region;
mod scaler;

use super::differences::Difference;
use super::error::{ReplayError, Wrong};
use super::notes::Notes;
use answer::Answer;
use page::Listed;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
pub(super) struct Recorded {
    pub(super) facts: BTreeMap<String, Value>,
}

pub(super) fn replay(recorded: &Recorded, notes: &mut Notes) -> Result<(), ReplayError> {
    if recorded.facts.is_empty() {
        return Err(Wrong::Recording("it has no facts".into()).at("semantics"));
    }
    for (name, fact) in &recorded.facts {
        compare(name, fact, notes).map_err(|wrong| wrong.at(format!("fact '{name}'")))?;
    }
    Ok(())
}

fn compare(name: &str, fact: &Value, notes: &mut Notes) -> Result<(), Wrong> {
    if let Some(answer) = run(name)? {
        answer.compare(fact)?;
        notes.compared("facts that hold here", 1);
        return Ok(());
    }
    let Some((_, listed)) = page::listed().find(|(listed, _)| *listed == name) else {
        notes.skipped(format!("the fact '{name}', which is not known here"), 1);
        return Ok(());
    };
    match listed {
        Listed::Held => notes.compared("facts that a test named in docs/semantics.md holds", 1),
        Listed::Differs => notes.differs(Difference::Semantics),
        Listed::Absent => {
            notes.skipped("facts about what is not here, for the reasons in docs/semantics.md", 1);
        }
    }
    Ok(())
}

/// Does what the fact is about, where we have it, and returns what came of it.
fn run(name: &str) -> Result<Option<Answer>, Wrong> {
    if let Some(run) = scaler::run(name) {
        return run.map(Some).map_err(|error| Wrong::Result(format!("it is refused: {error}")));
    }
    Ok(region::run(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::file;
    use std::collections::BTreeSet;

    #[test]
    fn every_fact_is_run_or_on_the_page_and_not_both() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/golden/semantics.json.gz");
        let recorded: Recorded = serde_json::from_value(file(path.as_ref()).unwrap()).unwrap();
        let listed: BTreeSet<_> = page::listed().map(|(name, _)| name).collect();
        assert_eq!(page::listed().count(), listed.len(), "a fact is there twice");
        for name in recorded.facts.keys() {
            let is_run = run(name).unwrap().is_some();
            assert_ne!(is_run, listed.contains(name.as_str()), "{name}");
        }
        let strange = listed.iter().filter(|name| !recorded.facts.contains_key(**name));
        assert_eq!(strange.collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
