//! Numbers of other libraries, imported and exported, value by value.

use binade_grad_scaler::{LossScale, ScaleState, Tolerance};
use binade_interchange::protocol::StateDict;
use binade_interchange::{DeepSpeedFusedState, DeepSpeedState, FirstGrowth, PaddleState};

fn torch() -> StateDict {
    StateDict::export(&LossScale::torch(), &LossScale::torch().start()).unwrap().saved
}

fn deepspeed() -> DeepSpeedState {
    let (rule, first) = (LossScale::preset("deepspeed").unwrap(), FirstGrowth::AfterWindow);
    DeepSpeedState {
        scale_window: 10,
        ..DeepSpeedState::export(&rule, &rule.start(), first).unwrap().saved
    }
}

fn fused() -> DeepSpeedFusedState {
    let rule = LossScale::torch();
    DeepSpeedFusedState {
        scale_window: 10,
        ..DeepSpeedFusedState::export(&rule, &rule.start()).unwrap().saved
    }
}

#[test]
fn deepspeeds_counters_tell_the_good_steps_and_an_overflow_at_the_last_update() {
    use FirstGrowth::{AfterWindow, AfterWindowAndOne};
    for (first, cur_iter, last_overflow_iter, counted, notes) in [
        (AfterWindow, 0, -1, (0, 0), 0),
        (AfterWindow, 20, 19, (0, 1), 0),
        (AfterWindow, 20, 12, (7, 0), 0),
        (AfterWindow, 20, 9, (0, 0), 1),
        (AfterWindowAndOne, 20, 12, (6, 0), 0),
        (AfterWindowAndOne, 20, 18, (0, 0), 0),
        (AfterWindowAndOne, 20, 19, (0, 1), 1),
    ] {
        let saved = DeepSpeedState { cur_iter, last_overflow_iter, ..deepspeed() };
        let imported = saved.import(first).unwrap();
        let ScaleState { good_steps, bad_steps, .. } = imported.state;
        let told = format!("{first:?} {cur_iter} {last_overflow_iter}: {:?}", imported.notes);
        assert_eq!(((good_steps, bad_steps), imported.notes.len()), (counted, notes), "{told}");
    }
}

/// The first growth after an overflow or the start comes a step later in DeepSpeed; other growths come at the same step as in Binade.
#[test]
fn good_steps_are_saved_as_the_iterations_that_deepspeed_counts() {
    for (good_steps, bad_steps, updates, iterations) in [
        (0, 0, 0, (0, -1)),
        (0, 1, 5, (5, 4)),
        (0, 0, 5, (5, 3)),
        (3, 0, 7, (7, 2)),
        (3, 0, 0, (4, -1)),
    ] {
        let rule = LossScale::torch();
        let state = ScaleState { good_steps, bad_steps, updates, ..rule.start() };
        let saved = DeepSpeedFusedState::export(&rule, &state).unwrap().saved;
        assert_eq!((saved.cur_iter, saved.last_overflow_iter), iterations, "{state}");
    }
}

#[test]
fn deepspeeds_factor_is_of_growth_and_of_backoff() {
    let rule = DeepSpeedState { scale_factor: 4.0, ..deepspeed() }
        .import(FirstGrowth::AfterWindow)
        .unwrap()
        .rule;
    assert_eq!((rule.growth_exponent, rule.backoff_exponent), (2, 2));
}

#[test]
fn the_fused_optimizer_has_of_a_given_rule_what_it_does_not_save() {
    let mut given = LossScale::preset("deepspeed").unwrap().with_patience(3);
    given.log_max = LossScale::preset("log-max").unwrap().log_max;
    let saved = DeepSpeedFusedState { scale_factor: 4.0, ..fused() };
    let mut expected = given.with_tolerance(Tolerance::None).with_growth_interval(10).unwrap();
    (expected.growth_exponent, expected.backoff_exponent, expected.log_max) = (2, 2, None);
    assert_eq!(saved.import(&given).unwrap().rule, expected);
}

#[test]
fn paddles_overflows_in_a_row_are_skips_in_a_row() {
    let rule =
        LossScale::preset("paddle").unwrap().with_tolerance(Tolerance::InARow { overflows: 3 });
    let state = ScaleState { tolerated: 2, ..rule.start() };
    let saved = PaddleState::export(&rule, &state).unwrap().saved;
    let imported = saved.import().unwrap().state;
    assert_eq!((imported.bad_steps, imported.tolerated), (2, 2));
}

#[test]
fn a_floor_widens_to_hold_a_scale_below_it() {
    let imported =
        DeepSpeedState { cur_scale: 0.5, ..deepspeed() }.import(FirstGrowth::AfterWindow).unwrap();
    assert_eq!(imported.notes, ["the rule's limits were widened to the scale's 2^-1"]);
    assert_eq!((imported.rule.min_exponent, imported.rule.start().exponent), (-1, -1));
}

#[test]
fn a_growth_that_never_comes_is_not_overdue() {
    let saved = StateDict { growth_interval: 0, growth_tracker: 5000, ..torch() };
    let notes = saved.import().unwrap().notes;
    assert!(notes.len() == 1 && notes[0].ends_with("the scale never grows"), "{notes:?}");
}

#[test]
fn a_floor_alone_is_noted_where_the_library_saves_none() {
    let rule = LossScale::torch().with_limits(1.0, 2.0_f32.powi(126)).unwrap();
    let notes = StateDict::export(&rule, &rule.start()).unwrap().notes;
    assert_eq!(notes, ["the limits 2^0..=2^126 are not part of what is saved"]);
}
