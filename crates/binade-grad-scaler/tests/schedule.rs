//! Learning rates by the number of a step: of those applied, or of those tried.
mod common;

use binade_grad_scaler::{Advance, LossScale, Schedule, ScheduleState, Step};
use common::sgd::Sgd;
use common::{Result, iterate, scaler, unscaled};
use proptest::prelude::*;

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn identity(step: u64) -> f64 {
    step as f64
}

/// One outcome for each flag: whether it is a skip.
fn outcomes(skips: &[bool]) -> Vec<Step> {
    let rule = LossScale::none().with_patience(u32::MAX);
    let (mut scaler, mut sgd) = (scaler(rule), Sgd::new(&[("w", &[1.0])]));
    let set = |skip| [("w", if skip { &[f32::NAN][..] } else { &[1.0] })];
    skips.iter().map(|&skip| iterate(&mut scaler, &mut sgd, &set(skip)).unwrap()).collect()
}

/// The rates of a run whose outcomes are known `late` steps after the step.
fn rates(advance: Advance, skips: &[bool], late: usize) -> Vec<f64> {
    let mut schedule = Schedule::new(identity, advance);
    let outcomes = outcomes(skips);
    let mut known = outcomes.iter();
    (0..skips.len())
        .map(|step| {
            if step > late {
                schedule.record(known.next().expect("one a step"));
            }
            schedule.begin()
        })
        .collect()
}

fn tell<F: Fn(u64) -> f64>(schedules: &mut [Schedule<F>], known: impl Iterator<Item = Step>) {
    for step in known {
        for schedule in &mut *schedules {
            schedule.record(&step);
        }
    }
}

const SKIPS: [bool; 6] = [false, true, true, false, true, false];

#[test]
fn on_applied_a_skipped_step_does_not_advance_the_schedule() {
    assert_eq!(rates(Advance::OnApplied, &SKIPS, 0), [0.0, 1.0, 1.0, 1.0, 2.0, 2.0]);
}

#[test]
fn on_attempted_the_schedule_is_the_loops_counter_whatever_is_recorded() {
    for late in [0, 1, 6] {
        let counted = rates(Advance::OnAttempted, &SKIPS, late);
        assert_eq!(counted, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }
}

#[test]
fn an_outcome_one_step_late_puts_the_one_step_after_a_skip_a_number_ahead() {
    let skips = [false, true, false, false, false];
    assert_eq!(rates(Advance::OnApplied, &skips, 0), [0.0, 1.0, 1.0, 2.0, 3.0]);
    assert_eq!(rates(Advance::OnApplied, &skips, 1), [0.0, 1.0, 2.0, 2.0, 3.0]);
}

#[test]
fn a_schedule_follows_its_own_optimizer() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let d = unscaled(&scaler, &[("w", &[1.0])])?.named("discriminator").step(&mut sgd)?;
    let g = unscaled(&scaler, &[("w", &[f32::NAN])])?.named("generator").step(&mut sgd)?;
    let step = scaler.update(d.and(g))?.resolve()?;
    let numbers = [Some("discriminator"), Some("generator"), Some("critic"), None].map(|name| {
        let schedule = Schedule::new(identity, Advance::OnApplied);
        let mut schedule = match name {
            Some(name) => schedule.of(name),
            None => schedule,
        };
        schedule.begin();
        schedule.record(&step);
        schedule.number()
    });
    assert_eq!(numbers, [1, 0, 1, 0], "without a name a skip of any is a skip");
    Ok(())
}

#[test]
fn a_step_that_was_halted_or_diverged_counts_as_skipped_only_if_it_was() -> Result {
    let rule = LossScale::none().with_patience(1);
    let (mut scaler, mut sgd) = (scaler(rule), Sgd::new(&[("w", &[1.0])]));
    let mut schedule = Schedule::new(identity, Advance::OnApplied);
    for x in [f32::NAN, 1.0] {
        schedule.begin();
        let step = iterate(&mut scaler, &mut sgd, &[("w", &[x])])?;
        assert!(matches!(step, Step::Diverged(_)));
        schedule.record(&step);
    }
    assert_eq!((schedule.number(), sgd.steps), (0, 0));
    schedule.begin();
    let step =
        scaler.never_scaled(common::times(&[("w", &[1.0])], &common::host::Host::f32(&[1.0])))?;
    let step = scaler.update(step.step(&mut sgd)?)?.resolve()?;
    schedule.record(&step);
    assert_eq!((schedule.number(), sgd.steps), (1, 1), "taken, though the run has diverged");
    Ok(())
}

#[test]
fn a_state_that_makes_no_sense_does_not_panic() {
    let odd = ScheduleState { begun: 1, skipped: 3 };
    assert_eq!(Schedule::new(identity, Advance::OnApplied).at(odd).begin(), 0.0);
}

#[cfg(feature = "serde")]
#[test]
fn a_schedule_goes_on_from_a_saved_state() {
    let mut whole = Schedule::new(identity, Advance::OnApplied);
    let outcomes = outcomes(&SKIPS);
    for outcome in &outcomes[..3] {
        whole.begin();
        whole.record(outcome);
    }
    let written = serde_json::to_string(&(whole.state(), Advance::OnApplied)).unwrap();
    let (state, advance): (ScheduleState, Advance) = serde_json::from_str(&written).unwrap();
    let mut resumed = Schedule::new(identity, advance).at(state);
    for outcome in &outcomes[3..] {
        assert_eq!(resumed.begin(), whole.begin());
        resumed.record(outcome);
        whole.record(outcome);
    }
    assert_eq!((resumed.state(), resumed.number()), (whole.state(), 3));
}

proptest! {
    #[test]
    fn once_all_is_known_the_number_is_that_of_the_steps_applied_or_tried(
        skips in prop::collection::vec(any::<bool>(), 0..40),
        late in prop::collection::vec(any::<bool>(), 0..40),
    ) {
        let mut schedules = [Advance::OnApplied, Advance::OnAttempted].map(|a| Schedule::new(identity, a));
        let mut waiting = Vec::new();
        for (step, outcome) in outcomes(&skips).into_iter().enumerate() {
            for schedule in &mut schedules {
                schedule.begin();
            }
            waiting.push(outcome);
            if late.get(step) != Some(&true) {
                tell(&mut schedules, waiting.drain(..));
            }
        }
        tell(&mut schedules, waiting.drain(..));
        let applied = skips.iter().filter(|skip| !**skip).count() as u64;
        prop_assert_eq!(schedules.each_ref().map(Schedule::number), [applied, skips.len() as u64]);
    }

    #[test]
    fn a_late_outcome_is_never_behind_and_at_most_its_skips_ahead(
        skips in prop::collection::vec(prop::bool::weighted(0.3), 1..40),
        late in 0_usize..4,
    ) {
        let at_once = rates(Advance::OnApplied, &skips, 0);
        let lagging = rates(Advance::OnApplied, &skips, late);
        for step in 0..skips.len() {
            let unknown = skips[step.saturating_sub(late)..step].iter().filter(|skip| **skip);
            prop_assert_eq!(lagging[step], at_once[step] + identity(unknown.count() as u64));
        }
    }
}

#[test]
fn a_schedule_is_debugged_with_what_it_counts() {
    let mut schedule = Schedule::new(identity, Advance::OnApplied).of("generator");
    schedule.begin();
    let said = format!("{schedule:?}");
    for told in ["OnApplied", "generator", "begun: 1", "skipped: 0"] {
        assert!(said.contains(told), "{said}");
    }
}
