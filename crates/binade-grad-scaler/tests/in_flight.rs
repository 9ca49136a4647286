//! Count of the values of a step that are in hand, so that a checkpoint is made between steps.

use crate::common::sgd::Sgd;
use crate::common::{Result, Set, backward, f32s, scaler, unscaled};
use binade_grad_scaler::{BadMicroBatch, LossScale};

const SET: Set<'_> = &[("w", &[1.0])];

#[test]
fn each_thing_in_hand_counts_until_it_is_gone() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(SET));
    assert_eq!(scaler.in_flight(), 0);
    let loss = scaler.scale(&f32s(&[1.0]))?;
    let made = backward(&scaler, SET)?;
    let grads = unscaled(&scaler, SET)?;
    assert_eq!(scaler.in_flight(), 3);
    drop((loss, made));
    assert_eq!(scaler.in_flight(), 1);
    let step = grads.step(&mut sgd)?;
    assert_eq!(scaler.in_flight(), 1, "a pending step");
    let outcome = scaler.update(step)?;
    assert!(scaler.in_flight() > 0, "an outcome that nobody has looked at");
    drop(outcome.resolve()?);
    assert_eq!(scaler.in_flight(), 0);
    let step = unscaled(&scaler, SET)?.step(&mut sgd)?;
    scaler.update(step)?.ignore();
    assert_eq!(scaler.in_flight(), 0);
    Ok(())
}

#[test]
fn an_outcome_that_is_kept_can_be_left_uncounted_and_says_the_same() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(SET));
    let step = unscaled(&scaler, SET)?.step(&mut sgd)?;
    let outcome = scaler.update(step)?;
    let clone = outcome.clone();
    let kept = outcome.uncounted();
    assert!(scaler.in_flight() > 0, "the clone");
    let said = format!("{:?}", clone.resolve()?);
    assert_eq!(scaler.in_flight(), 0);
    assert_eq!(format!("{:?}", kept.clone().resolve()?), said);
    assert_eq!(scaler.in_flight(), 0);
    Ok(())
}

#[test]
fn an_open_window_counts_once_something_was_added() -> Result {
    let (scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(SET));
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    assert_eq!(scaler.in_flight(), 0);
    for _ in 0..3 {
        window.add(unscaled(&scaler, SET)?)?;
        assert_eq!(scaler.in_flight(), 1);
    }
    let step = window.finish()?.expect("three micro-batches").step(&mut sgd)?;
    assert_eq!(scaler.in_flight(), 1);
    drop(step);
    assert_eq!(scaler.in_flight(), 0);
    Ok(())
}
