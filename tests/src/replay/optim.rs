//! Tables of optimizer steps.

use super::bits::floats;
use super::error::{ReplayError, Wrong};
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

/// torch's for-loop with a correctly rounded square root, by step and parameter; its other variants round differently.
#[derive(Debug, Deserialize)]
struct Variants {
    forloop_ieee: Vec<Vec<State>>,
}

pub(super) fn replay(table: &Table) -> Result<(), ReplayError> {
    let mut cases = table.cases.iter().enumerate();
    cases.try_for_each(|(i, case)| table.replay(case, &format!("case {i} ({})", case.kind)))
}

impl Table {
    fn replay(&self, case: &Case, at: &str) -> Result<(), ReplayError> {
        let mut optimizer =
            Optimizer::new(&case.kind, &case.hyper, &self.init).map_err(|wrong| wrong.at(at))?;
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
