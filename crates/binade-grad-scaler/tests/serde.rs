//! States, rules and reports of a checkpoint and a log come back as they were.
#![cfg(feature = "serde")]

use crate::common::sgd::Sgd;
use crate::common::{Result, Set, finish, iterate, scaler, unscaled};
use binade_grad_scaler::{LossScale, ScaleState, Step, StepReport, UpdateInputs};

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let written = serde_json::to_string(value).expect("written");
    serde_json::from_str(&written).expect("read")
}

const SETS: [Set<'_>; 5] = [
    &[("w", &[1.0])],
    &[("w", &[f32::INFINITY])],
    &[("w", &[2.0])],
    &[("w", &[f32::INFINITY])],
    &[("w", &[0.5])],
];

#[test]
fn a_rule_comes_back_as_it_was() {
    let rule = LossScale::dynamic()
        .with_limits(2.0_f32.powi(-7), 2.0_f32.powi(30))
        .unwrap()
        .with_patience(5);
    assert_eq!(round_trip(&rule), rule);
    for &(name, preset) in LossScale::PRESETS {
        assert_eq!(round_trip(&preset), preset, "{name}");
    }
}

#[test]
fn a_rule_is_written_under_names_that_stay() {
    let written = serde_json::to_value(LossScale::preset("log-max").unwrap()).expect("written");
    for (name, exponent) in [("init", 0), ("growth", 0), ("backoff", 0), ("min", 0), ("max", 24)] {
        assert_eq!(written[name], exponent, "{name}");
    }
    assert_eq!(written["log_max"]["ceiling"], 16);
}

#[test]
fn every_preset_resumes_from_a_state_that_was_written_to_the_bit() {
    for &(name, rule) in LossScale::PRESETS {
        let imported = ScaleState::import(3000.1).expect("usable");
        let mut state = if rule.log_max.is_some() { rule.start() } else { imported };
        for number in 0..200_u16 {
            let overflow = number % 7 == 3;
            let magnitude = 0.1 * f32::from(number);
            state = rule.next(state, UpdateInputs { overflow, skipped: overflow, magnitude });
            assert_eq!(round_trip(&state), state, "{name} after {number}");
        }
    }
}

#[test]
fn what_was_written_before_there_were_tolerances_is_read() {
    let without = |mut written: serde_json::Value, keys: &[&str]| {
        let fields = written.as_object_mut().expect("a table");
        for key in keys {
            fields.remove(*key).expect("there");
        }
        written
    };
    let rule = LossScale::dynamic();
    let written = serde_json::to_value(rule).expect("written");
    let old = without(written, &["tolerance", "log_max"]);
    assert_eq!(serde_json::from_value::<LossScale>(old).expect("read"), rule);
    let written = serde_json::to_value(rule.start()).expect("written");
    let old = without(written, &["tolerated", "since_move", "averages"]);
    assert_eq!(serde_json::from_value::<ScaleState>(old).expect("read"), rule.start());
}

#[test]
fn a_run_resumed_at_any_step_equals_one_that_was_not_interrupted() -> Result {
    let rule = LossScale::dynamic().with_growth_interval(2).unwrap();
    let (mut whole, mut sgd) = (scaler(rule), Sgd::new(&[("w", &[1.0])]));
    for set in SETS {
        drop(iterate(&mut whole, &mut sgd, set)?);
    }
    for saved in 0..=SETS.len() {
        let (mut before, mut own) = (scaler(rule), Sgd::new(&[("w", &[1.0])]));
        for set in &SETS[..saved] {
            drop(iterate(&mut before, &mut own, set)?);
        }
        let mut after = scaler(round_trip(before.rule()));
        after.set_state(round_trip(&before.state()?))?;
        for set in &SETS[saved..] {
            drop(iterate(&mut after, &mut own, set)?);
        }
        assert_eq!((after.state()?, own.bits()), (whole.state()?, sgd.bits()), "at {saved}");
    }
    Ok(())
}

#[test]
fn a_report_says_the_same_after_a_round_trip() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let set: Set<'_> = &[("w", &[3.0, 4.0])];
    let beyond: Set<'_> = &[("w", &[3e33, 3e33])];
    for set in SETS.into_iter().chain([set, beyond]) {
        let grads = unscaled(&scaler, set)?.clip_norm(1.0)?.named("generator");
        let step = finish(grads, &mut scaler, &mut sgd)?;
        let back: StepReport = round_trip(step.report());
        assert_eq!(back.to_string(), step.report().to_string());
        assert_eq!(back.steps[0].norm, step.report().steps[0].norm);
        assert_eq!(round_trip::<Step>(&step).is_applied(), step.is_applied());
    }
    Ok(())
}
