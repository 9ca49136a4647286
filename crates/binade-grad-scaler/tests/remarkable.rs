//! Which steps a loop should tell of: all but those that went as they should.

use crate::common::sgd::Sgd;
use crate::common::{Result, Set, f32s, finish, iterate, rule, scaler, unscaled};
use binade_core::Named;
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState, Step};

const GOOD: Set<'_> = &[("w", &[1.0])];
const BAD: Set<'_> = &[("w", &[f32::INFINITY])];

fn one(rule: LossScale, set: Set<'_>) -> Result<Step> {
    iterate(&mut scaler(rule), &mut Sgd::new(GOOD), set)
}

#[test]
fn a_step_that_was_applied_is_not_remarkable_though_the_scale_grows() -> Result {
    for rule in [LossScale::dynamic(), rule(|r| r.growth_interval = 1)] {
        let step = one(rule, GOOD)?;
        assert!(step.is_applied() && !step.report().is_remarkable(), "{}", step.report());
    }
    Ok(())
}

#[test]
fn a_skip_is_remarkable_and_so_is_a_norm_that_skips() -> Result {
    assert!(one(LossScale::dynamic(), BAD)?.report().is_remarkable());
    let (mut scaler, mut sgd) = (scaler(LossScale::none()), Sgd::new(&[]));
    let step = unscaled(&scaler, &[("w", &[3e38, 3e38])])?.clip_norm(1.0)?.step(&mut sgd)?;
    assert!(scaler.update(step)?.resolve()?.report().is_remarkable());
    Ok(())
}

#[test]
fn a_micro_batch_left_out_is_remarkable_though_the_step_was_applied() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(GOOD));
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for set in [GOOD, BAD] {
        window.add(unscaled(&scaler, set)?)?;
    }
    let step = finish(window.finish()?.expect("two"), &mut scaler, &mut sgd)?;
    assert!(step.is_applied() && step.report().is_remarkable(), "{}", step.report());
    Ok(())
}

#[test]
fn a_gradient_that_is_missing_is_remarkable() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let grads = scaler.scale(&f32s(&[1.0]))?.backward(|_| Ok(vec![Named::new("w", None)]))?;
    let step = finish(grads.unscale()?, &mut scaler, &mut sgd)?;
    assert!(step.is_applied() && step.report().is_remarkable(), "{}", step.report());
    Ok(())
}

#[test]
fn divergence_is_remarkable_though_nothing_overflows_any_more() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(GOOD));
    scaler.set_state(ScaleState { diverged: true, ..ScaleState::from_exponent(0) })?;
    assert!(iterate(&mut scaler, &mut sgd, GOOD)?.report().is_remarkable());
    Ok(())
}
