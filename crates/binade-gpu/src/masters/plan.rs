//! The rules of a plan, as far as the step's kernels go.

use crate::{Driver, Error, Result};
use binade_master_weights::{Plan, StepConstants, UpdateRule};

/// Refuses a plan with a rule that no kernel steps by.
///
/// # Errors
///
/// [`Error::Rule`].
pub fn check_plan<D: Driver>(plan: &Plan) -> Result<(), D> {
    let rules = plan.groups().iter().map(|group| &group.rule);
    rules.chain([plan.rule()]).try_for_each(|rule| match rule {
        UpdateRule::Sgd(_) | UpdateRule::Adam(_) => Ok(()),
        other => Err(unsupported_rule::<D>(other)),
    })
}

/// Returns the error for a rule that no kernel steps by.
pub fn unsupported_rule<D: Driver>(rule: &UpdateRule) -> Error<D::Failure> {
    Error::Rule { rule: format!("{rule:?}") }
}

/// Returns a row of a step's constants as words; a rule with fewer has zeros behind.
pub fn constant_words(constants: &StepConstants) -> [u32; 9] {
    let mut words = [0; 9];
    let row: &[f32] = match constants {
        StepConstants::Sgd(sgd) => &sgd.to_row(),
        StepConstants::Adam(adam) => &adam.to_row(),
    };
    words.iter_mut().zip(row).for_each(|(word, value)| *word = value.to_bits());
    words
}
