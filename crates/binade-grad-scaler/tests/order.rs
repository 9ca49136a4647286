//! Wrong orders that compile: what the run says of each.

use crate::common::sgd::Sgd;
use crate::common::{HostScaler, Result, Set, f32s, finish, iterate, scaler, times, unscaled};
use binade_core::{Error as _, ErrorKind, HostDeviceError, OrderError, TrainError};
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState, Scaler, Step, UnscaledGrads};

const SET: Set<'_> = &[("w", &[1.0])];

fn pair() -> (HostScaler, Sgd) {
    (scaler(LossScale::dynamic()), Sgd::new(SET))
}

fn order<T>(outcome: Result<T>) -> OrderError {
    match outcome.map(drop).expect_err("an error") {
        HostDeviceError::Train(TrainError::Order(error)) => error,
        other => panic!("{other}"),
    }
}

fn never_updated<T>(outcome: Result<T>) -> (String, u64) {
    match order(outcome) {
        OrderError::NeverUpdated { step, update } => (step, update),
        other => panic!("{other}"),
    }
}

#[test]
fn a_step_bound_to_a_name_and_forgotten_makes_the_next_scale_an_error_once() -> Result {
    let (mut scaler, mut sgd) = pair();
    assert!(iterate(&mut scaler, &mut sgd, SET)?.is_applied());
    {
        let _step = unscaled(&scaler, SET)?.named("generator").step(&mut sgd)?;
        assert_eq!(scaler.in_flight(), 1);
    }
    assert_eq!(scaler.in_flight(), 0);
    let error = unscaled(&scaler, SET).expect_err("a step was dropped");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let text = error.to_string();
    assert!(text.starts_with("step 2 (`generator`) never reached `Scaler::update`"), "{text}");
    assert!(iterate(&mut scaler, &mut sgd, SET)?.is_applied(), "told once");
    Ok(())
}

#[test]
fn a_step_that_is_abandoned_is_no_mistake_and_moves_no_scale() -> Result {
    let (mut scaler, mut sgd) = pair();
    unscaled(&scaler, &[("w", &[f32::INFINITY])])?.step(&mut sgd)?.abandon();
    assert_eq!((scaler.in_flight(), scaler.state()?), (0, LossScale::dynamic().start()));
    assert!(iterate(&mut scaler, &mut sgd, SET)?.is_applied());
    Ok(())
}

#[test]
fn a_loop_without_update_ends_at_its_second_iteration() {
    let (scaler, mut sgd) = pair();
    let mut run = || -> Result {
        for _ in 0..50 {
            let _step = unscaled(&scaler, &[("w", &[f32::INFINITY])])?.step(&mut sgd)?;
        }
        Ok(())
    };
    assert_eq!(never_updated(run()), (String::new(), 1));
}

#[test]
fn every_way_to_a_gradient_tells_of_a_dropped_step() -> Result {
    let (scaler, mut sgd) = pair();
    let mut forget = || -> Result {
        drop(unscaled(&scaler, SET)?.step(&mut sgd)?);
        Ok(())
    };
    let loss = f32s(&[1.0]);
    forget()?;
    assert_eq!(never_updated(scaler.check_unscaled(times(SET, &loss))).1, 1);
    forget()?;
    assert_eq!(never_updated(scaler.delay_unscale().backward(&loss, |_| Ok(()))).1, 1);
    forget()?;
    let passed = scaler.sum_scaled().backward(&loss, |factor| Ok(times(SET, factor)));
    assert_eq!(never_updated(passed).1, 1);
    Ok(())
}

#[test]
fn a_state_that_is_set_starts_anew() -> Result {
    let (mut scaler, mut sgd) = pair();
    drop(unscaled(&scaler, SET)?.step(&mut sgd)?);
    scaler.set_state(ScaleState::from_exponent(4))?;
    assert!(iterate(&mut scaler, &mut sgd, SET)?.is_applied());
    Ok(())
}

#[test]
fn another_scalers_step_is_refused_by_name_and_moves_neither_scale() -> Result {
    let (mut mine, mut sgd) = pair();
    let mut other = scaler(LossScale::dynamic());
    let bad: Set<'_> = &[("w", &[f32::INFINITY])];
    let step = unscaled(&mine, bad)?.named("mine").step(&mut sgd)?;
    let error = other.update(step).expect_err("another's");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let text = error.to_string();
    assert!(text.starts_with("the step `mine` holds gradients of a loss that another"), "{text}");
    assert!(text.contains("use `Scaler::update_each`"), "{text}");
    let states = [mine.state()?, other.state()?].map(|state| (state.exponent, state.updates));
    assert_eq!(states, [(16, 0); 2]);
    assert!(iterate(&mut mine, &mut sgd, SET)?.is_applied(), "what was refused is not told again");
    Ok(())
}

#[test]
fn a_window_or_a_joint_step_with_one_loss_of_another_scaler_is_refused() -> Result {
    let ([mut first, second], mut sgd) =
        ([scaler(LossScale::dynamic()), scaler(LossScale::dynamic())], Sgd::new(SET));
    let mut window = first.accumulate(BadMicroBatch::Drop);
    window.add(unscaled(&second, SET)?)?;
    window.add(unscaled(&first, SET)?)?;
    let step = window.finish()?.expect("two").step(&mut sgd)?;
    assert!(matches!(order(first.update(step)), OrderError::OtherScaler { .. }));
    let [a, b] = UnscaledGrads::skip_together([unscaled(&first, SET)?, unscaled(&second, SET)?])?;
    let step = a.step(&mut sgd)?.and(b.step(&mut sgd)?);
    assert!(matches!(order(first.update(step)), OrderError::OtherScaler { .. }));
    let unscaled_by_another = second.check_unscaled(times(SET, &f32s(&[1.0])))?;
    let step = unscaled_by_another.step(&mut sgd)?;
    assert!(matches!(order(first.update(step)), OrderError::OtherScaler { .. }));
    Ok(())
}

#[test]
fn an_update_for_each_of_some_scalers_refuses_the_loss_of_another() -> Result {
    let [mut a, mut b, c] = [(); 3].map(|()| scaler(LossScale::dynamic()));
    let mut sgd = Sgd::new(SET);
    let step = unscaled(&a, SET)?.step(&mut sgd)?.and(unscaled(&c, SET)?.step(&mut sgd)?);
    let refused = Scaler::update_each([&mut a, &mut b], step);
    assert!(matches!(order(refused), OrderError::OtherScaler { .. }));
    assert_eq!([a.state()?.updates, b.state()?.updates], [0, 0]);
    Ok(())
}

#[test]
fn two_updates_in_one_iteration_are_refused_and_joined_they_count_once() -> Result {
    let (mut scaler, mut sgd) = pair();
    let (d, g) = (unscaled(&scaler, SET)?, unscaled(&scaler, SET)?.named("generator"));
    let (d, g) = (d.step(&mut sgd)?, g.step(&mut sgd)?);
    scaler.update(d)?.ignore();
    let error = order(scaler.update(g));
    assert_eq!(error, OrderError::SecondUpdate { step: "generator".into() });
    assert!(error.to_string().contains("join the steps of one iteration with `.and()`"));
    assert_eq!(scaler.state()?.good_steps, 1);
    let (d, g) = (unscaled(&scaler, SET)?, unscaled(&scaler, SET)?);
    let joined = d.step(&mut sgd)?.and(g.step(&mut sgd)?);
    scaler.update(joined)?.ignore();
    assert_eq!(scaler.state()?.good_steps, 2);
    Ok(())
}

#[test]
fn a_window_whose_last_micro_batch_is_of_this_iteration_is_updated() -> Result {
    let (mut scaler, mut sgd) = pair();
    let mut window = scaler.accumulate(BadMicroBatch::SkipWindow);
    for _ in 0..3 {
        assert!(iterate(&mut scaler, &mut sgd, SET)?.is_applied());
        window.add(unscaled(&scaler, SET)?)?;
    }
    let step = window.finish()?.expect("three").step(&mut sgd)?;
    assert!(matches!(scaler.update(step)?.resolve()?, Step::Applied(_)));
    assert_eq!(scaler.state()?.updates, 4);
    Ok(())
}

#[test]
fn a_delayed_window_is_of_the_iteration_of_its_last_loss() -> Result {
    let (mut scaler, mut sgd) = pair();
    let loss = f32s(&[1.0]);
    let (mut delayed, mut summed) = (scaler.delay_unscale(), scaler.sum_scaled());
    assert!(iterate(&mut scaler, &mut sgd, SET)?.is_applied());
    let mut buffers = Vec::new();
    delayed.backward(&loss, |factor| {
        buffers = times(SET, factor);
        Ok(())
    })?;
    assert!(
        finish(
            delayed.collect(|| Ok(buffers))?.expect("a pass").unscale()?,
            &mut scaler,
            &mut sgd
        )?
        .is_applied()
    );
    summed.backward(&loss, |factor| Ok(times(SET, factor)))?;
    assert!(finish(summed.unscale()?.expect("a pass"), &mut scaler, &mut sgd)?.is_applied());
    Ok(())
}
