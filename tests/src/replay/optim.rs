//! Tables of optimizer steps.

use super::bits::floats;
use super::error::{ReplayError, Wrong, same};
use super::notes::Notes;
use super::optimizer::Optimizer;
use super::trace::{Hyper, State};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Table {
    /// Bits by parameter: where every case starts.
    init: Vec<Vec<u32>>,
    /// Bits by step and parameter.
    grads: Vec<Vec<Vec<u32>>>,
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
struct Case {
    kind: String,
    hyper: Hyper,
    variants: Variants,
}

#[derive(Debug, Deserialize)]
struct Variants {
    /// torch's for-loop with a correctly rounded square root, by step and parameter.
    forloop_ieee: Vec<Vec<State>>,
}

pub(super) fn replay(table: &Table, notes: &mut Notes) -> Result<(), ReplayError> {
    if table.cases.is_empty() || table.grads.is_empty() {
        return Err(Wrong::Recording("it has no steps".into()).at("optim"));
    }
    for (i, case) in table.cases.iter().enumerate() {
        table.replay(case, &format!("case {i} ({})", case.kind))?;
        notes.compared("steps of optimizers", table.grads.len());
    }
    Ok(())
}

impl Table {
    fn replay(&self, case: &Case, at: &str) -> Result<(), ReplayError> {
        let mut optimizer =
            Optimizer::new(&case.kind, &case.hyper, &self.init).map_err(|wrong| wrong.at(at))?;
        same("the number of steps", &self.grads.len(), &case.variants.forloop_ieee.len())
            .map_err(|wrong| wrong.at(at))?;
        for (t, recorded) in case.variants.forloop_ieee.iter().enumerate() {
            self.step(&mut optimizer, t, recorded)
                .map_err(|wrong| wrong.at(format!("{at}, step {t}")))?;
        }
        Ok(())
    }

    fn step(&self, optimizer: &mut Optimizer, t: usize, recorded: &[State]) -> Result<(), Wrong> {
        let missing = |what: &str| Wrong::Recording(format!("it has no {what} for this step"));
        let grads = self.grads.get(t).ok_or_else(|| missing("gradients"))?;
        let grads: Vec<_> = grads.iter().map(|bits| Some(floats(bits))).collect();
        optimizer.step(&grads)?;
        let params: Option<Vec<_>> =
            recorded.iter().map(|state| state.get("param").cloned()).collect();
        optimizer.same_params(&params.ok_or_else(|| missing("parameters"))?)?;
        optimizer.same_states(recorded)
    }
}
