//! Learning rates by the number of a step, which a report's counters tell: of those applied, or of those tried.

use crate::common::sgd::Sgd;
use crate::common::{iterate, scaler};
use binade_grad_scaler::{LossScale, ScaleState, Step};

/// One outcome for each flag: whether it is a skip.
fn outcomes(skips: &[bool]) -> (Vec<Step>, Sgd) {
    let rule = LossScale::none().with_patience(u32::MAX);
    let (mut scaler, mut sgd) = (scaler(rule), Sgd::new(&[("w", &[1.0])]));
    let set = |skip| [("w", if skip { &[f32::NAN][..] } else { &[1.0] })];
    let run = |&skip: &bool| iterate(&mut scaler, &mut sgd, &set(skip)).unwrap();
    (skips.iter().map(run).collect(), sgd)
}

/// The number of each step of a run, from 0, by a report that is known `late` steps after its step.
fn numbers(count: fn(u64, ScaleState) -> u64, skips: &[bool], late: usize) -> Vec<u64> {
    let (outcomes, _) = outcomes(skips);
    let known = |step: usize| step.checked_sub(late + 1).map(|last| outcomes[last].report().scale);
    let state = |step| known(step).unwrap_or(LossScale::none().start());
    (0..skips.len()).map(|step| count(step as u64, state(step))).collect()
}

fn on_applied(begun: u64, known: ScaleState) -> u64 {
    begun - known.skipped
}

const SKIPS: [bool; 6] = [false, true, true, false, true, false];

#[test]
fn on_applied_a_skipped_step_does_not_advance_the_schedule() {
    assert_eq!(numbers(on_applied, &SKIPS, 0), [0, 1, 1, 1, 2, 2]);
    assert_eq!(numbers(|_, known| known.applied(), &SKIPS, 0), [0, 1, 1, 1, 2, 2]);
}

#[test]
fn on_attempted_the_schedule_is_the_loops_counter() {
    assert_eq!(numbers(|_, known| known.updates, &SKIPS, 0), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn an_outcome_one_step_late_puts_the_one_step_after_a_skip_a_number_ahead() {
    let skips = [false, true, false, false, false];
    assert_eq!(numbers(on_applied, &skips, 0), [0, 1, 1, 2, 3]);
    assert_eq!(numbers(on_applied, &skips, 1), [0, 1, 2, 2, 3]);
}
