//! Errors name keys and values that are missing, unknown or out of range.

use super::*;
use crate::protocol::StateDict;
use binade_grad_scaler::{Tolerance, UpdateInputs};

const GOOD: UpdateInputs = UpdateInputs { overflow: false, skipped: false, magnitude: 0.0 };
const SKIP: UpdateInputs = UpdateInputs { overflow: true, skipped: true, magnitude: 0.0 };

fn torch() -> StateDict {
    StateDict {
        scale: 1024.0,
        growth_factor: 4.0,
        backoff_factor: 0.25,
        growth_interval: 100,
        growth_tracker: 7,
    }
}

fn zero() -> DeepSpeedState {
    DeepSpeedState {
        dynamic: true,
        cur_scale: 4096.0,
        cur_iter: 20,
        last_overflow_iter: 12,
        scale_factor: 2.0,
        scale_window: 10,
        min_scale: 1.0,
        delayed_shift: 4,
        cur_hysteresis: 2,
        consecutive_hysteresis: true,
        raise_error_at_min_scale: true,
    }
}

fn paddle() -> PaddleState {
    PaddleState {
        scale: 256.0,
        incr_ratio: 2.0,
        decr_ratio: 0.5,
        incr_every_n_steps: 100,
        decr_every_n_nan_or_inf: 3,
        incr_count: 0,
        decr_count: 2,
        use_dynamic_loss_scaling: true,
    }
}

const KERAS: KerasState = KerasState { step_counter: 3, dynamic_scale: 32768.0 };

fn apex() -> ApexState {
    ApexState(vec![
        ApexScaler { loss_scale: 1024.0, unskipped: 3 },
        ApexScaler { loss_scale: 65536.0, unskipped: 0 },
    ])
}

#[test]
fn every_loss_of_apex_has_its_own_scale() {
    let imported = apex().import(&LossScale::preset("apex").unwrap()).unwrap();
    let of = |i: usize| (imported[i].state.exponent, imported[i].state.good_steps);
    assert_eq!((of(0), of(1)), ((10, 3), (16, 0)));
    let states: Vec<_> = imported.iter().map(|imported| imported.state).collect();
    let back = ApexState::export(&imported[0].rule, &states).unwrap();
    assert_eq!(back.saved, apex());
    assert_eq!(back.notes, ["the limits 2^-126..=2^24 are not part of what is saved"]);
}

#[test]
fn a_scale_that_is_no_power_of_two_is_kept_and_noted() {
    let imported = StateDict { scale: 400.0, ..torch() }.import().unwrap();
    assert_eq!(imported.state.factor(), 400.0);
    assert_eq!(
        imported.notes,
        ["`scale` is 400.0, no power of two: kept, and scaling is not exact"]
    );
    let back = StateDict::export(&imported.rule, &imported.state).unwrap();
    assert_eq!(back.saved.scale, 400.0);
    let imported = StateDict { scale: 0.1, ..torch() }.import().unwrap();
    assert_eq!(imported.notes.len(), 2);
    assert!(
        imported.notes[0].starts_with("`scale` is 0.1, which as f32 is"),
        "{}",
        imported.notes[0]
    );
}

#[test]
fn scales_out_of_reach_are_refused_by_value() {
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 2.0_f64.powi(127), 1e-40] {
        let text = StateDict { scale, ..torch() }.import().unwrap_err().to_string();
        assert!(text.contains(&format!("`scale` is {scale:?}")), "{text}");
    }
}

/// Import with a given factor, the factor's key, and refused factors with the nearest allowed one.
type FactorRow<'a> =
    (&'a dyn Fn(f64) -> Result<Imported, InterchangeError>, &'a str, &'a [(f64, f64)]);

#[test]
fn factors_that_are_no_power_of_two_are_refused_with_the_nearest() {
    let up = |growth_factor: f64| StateDict { growth_factor, ..torch() }.import();
    let down = |backoff_factor: f64| StateDict { backoff_factor, ..torch() }.import();
    let floor =
        |min_scale: f64| DeepSpeedState { min_scale, ..zero() }.import(FirstGrowth::AfterWindow);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let rows: [FactorRow<'_>; 3] = [
        (
            &up,
            "growth_factor",
            &[(7.0, 8.0), (1.2, 2.0), (1.5, 2.0), (0.5, 2.0), (-4.0, 2.0), (nan, 2.0), (inf, 2.0)],
        ),
        (
            &down,
            "backoff_factor",
            &[(0.3, 0.25), (0.75, 0.5), (1.5, 0.5), (3.0, 0.5), (0.0, 0.5), (-0.5, 0.5)],
        ),
        (
            &floor,
            "min_scale",
            &[
                (3.0, 4.0),
                (0.0, 1.0),
                (-1.0, 1.0),
                (1e300, 2.0_f64.powi(126)),
                (1e-300, 2.0_f64.powi(-126)),
            ],
        ),
    ];
    for (import, key, values) in rows {
        for (value, nearest) in values {
            let text = import(*value).unwrap_err().to_string();
            assert!(text.starts_with(&format!("`{key}` is {value:?}")), "{text}");
            assert!(text.contains(&format!("Set it to {nearest:?} ")), "{text}");
        }
    }
}

#[test]
fn counters_out_of_range_are_refused_by_value() {
    let told = |error: InterchangeError| error.to_string();
    let text = told(StateDict { growth_tracker: -1, ..torch() }.import().unwrap_err());
    assert!(text.contains("`_growth_tracker` is -1"), "{text}");
    let text = told(PaddleState { decr_count: 3, ..paddle() }.import().unwrap_err());
    assert!(text.contains("`decr_count` is 3") && text.contains(", 3"), "{text}");
    let first = FirstGrowth::AfterWindow;
    for state in [
        DeepSpeedState { cur_hysteresis: 0, ..zero() },
        DeepSpeedState { cur_hysteresis: 5, ..zero() },
        DeepSpeedState { delayed_shift: 0, ..zero() },
        DeepSpeedState { scale_window: 0, ..zero() },
        DeepSpeedState { last_overflow_iter: 20, ..zero() },
        DeepSpeedState { last_overflow_iter: -2, ..zero() },
        DeepSpeedState { cur_iter: -1, ..zero() },
        DeepSpeedState { cur_iter: i64::MIN, last_overflow_iter: i64::MAX, ..zero() },
    ] {
        let refused = state.import(first);
        assert!(matches!(refused, Err(InterchangeError::Count { .. })), "{refused:?}");
    }
}

#[test]
fn an_interval_that_never_comes_never_grows_here_either() {
    let imported = StateDict { growth_interval: 0, ..torch() }.import().unwrap();
    assert!(imported.notes[0].ends_with("the scale never grows"), "{:?}", imported.notes);
    let last = (0..5000).fold(imported.state, |state, _| imported.rule.next(state, GOOD));
    assert_eq!(last.exponent, 10);
}

#[test]
fn a_growth_that_torch_missed_is_noted() {
    let imported = StateDict { growth_tracker: 100, ..torch() }.import().unwrap();
    assert!(imported.notes[0].contains("not below the interval of 100"), "{:?}", imported.notes);
    assert_eq!(imported.rule.next(imported.state, GOOD).exponent, 12);
}

#[test]
fn limits_widen_to_hold_a_scale_and_say_so() {
    let high = ApexState(vec![ApexScaler { loss_scale: 2.0_f64.powi(30), unskipped: 0 }]);
    let imported = high.import(&LossScale::preset("apex").unwrap()).unwrap().remove(0);
    assert_eq!(imported.notes, ["the rule's limits were widened to the scale's 2^30"]);
    assert_eq!(imported.rule.next(imported.state, SKIP).exponent, 29);
}

#[test]
fn a_rule_that_a_library_has_not_is_refused_with_what_it_has_not() {
    let state = LossScale::dynamic().start();
    let tolerant = LossScale::preset("deepspeed").unwrap();
    let predicting = LossScale::preset("log-max").unwrap();
    let mut lopsided = LossScale::torch();
    lopsided.backoff_exponent = 2;
    for (refused, told) in [
        (StateDict::export(&tolerant, &state).unwrap_err(), "tolerates overflows"),
        (StateDict::export(&predicting, &state).unwrap_err(), "predicts"),
        (KerasState::export(&lopsided, &state).unwrap_err(), "1 binades up and 2 down"),
        (PaddleState::export(&tolerant, &state).unwrap_err(), "tolerates overflows"),
        (ApexState::export(&tolerant, &[state]).unwrap_err(), "tolerates overflows"),
        (KERAS.import(&lopsided).unwrap_err(), "1 binades up and 2 down"),
    ] {
        let text = refused.to_string();
        assert!(text.contains(told), "{text}");
    }
    let first = FirstGrowth::AfterWindow;
    let in_a_row =
        LossScale::preset("paddle").unwrap().with_tolerance(Tolerance::InARow { overflows: 2 });
    for rule in [lopsided, predicting, in_a_row] {
        assert!(DeepSpeedState::export(&rule, &state, first).is_err(), "{rule:?}");
    }
    assert!(DeepSpeedFusedState::export(&tolerant, &state).is_err());
}

#[test]
fn what_the_library_will_not_do_is_noted() {
    let rule = LossScale::dynamic().with_patience(1);
    let diverged = rule.next(rule.start(), SKIP);
    let notes = StateDict::export(&rule, &diverged).unwrap().notes;
    assert_eq!(
        notes,
        [
            "the limits 2^0..=2^24 are not part of what is saved",
            "the run has diverged, and the library goes on with it",
        ]
    );
}

#[test]
fn a_static_scale_of_paddle_is_a_rule_that_never_moves() {
    let fixed = PaddleState { use_dynamic_loss_scaling: false, ..paddle() };
    let imported = fixed.import().unwrap();
    let seen = [GOOD; 200].into_iter().chain([SKIP; 20]);
    let last = seen.fold(imported.state, |state, seen| imported.rule.next(state, seen));
    assert_eq!((last.exponent, last.diverged), (8, false));
    let back = PaddleState::export(&imported.rule, &imported.state).unwrap();
    assert_eq!(back.saved, fixed);
}
