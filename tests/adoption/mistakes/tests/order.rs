//! The mistakes that compile, and are errors of the run that say what to do.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use binade_adoption_mistakes::{Failure, Mine, back, start};
use binade_grad_scaler::core::{OrderError, TrainError};

fn order_error<T>(result: Result<T, Failure>) -> OrderError {
    match result.err().unwrap() {
        Failure::Train(TrainError::Order(error)) => error,
        other => panic!("{other}"),
    }
}

/// 4 and 6: bound to a name, `_step` or `_`, a step may reach no update without a word of the compiler.
#[test]
fn a_step_that_never_reached_update_is_told_by_the_next_scale() {
    let (scaler, mut descent, loss) = start().unwrap();
    let grads = scaler.scale(&loss).unwrap().backward(back).unwrap().unscale().unwrap();
    drop(grads.step(&mut descent).unwrap());
    let error = order_error(scaler.scale(&loss));
    assert!(matches!(error, OrderError::NeverUpdated { update: 1, .. }), "{error}");
    assert!(error.to_string().contains("give every step to `update`"), "{error}");
}

/// 9.
#[test]
fn a_step_of_another_scaler_is_refused_and_moves_no_scale() {
    let (scaler, mut descent, loss) = start().unwrap();
    let (mut other, _, _) = start().unwrap();
    let overflow = Mine(f32::INFINITY);
    let grads = scaler.scale(&loss).unwrap().backward(|_| back(&overflow)).unwrap();
    let step = grads.unscale().unwrap().step(&mut descent).unwrap();
    let error = order_error(other.update(step));
    assert!(matches!(error, OrderError::OtherScaler { .. }), "{error}");
    assert_eq!(other.state().unwrap().factor(), 65536.0);
}

/// 10.
#[test]
fn two_updates_in_one_iteration_are_refused() {
    let (mut scaler, mut descent, loss) = start().unwrap();
    let mut step = || {
        let grads = scaler.scale(&loss).unwrap().backward(back).unwrap().unscale().unwrap();
        grads.step(&mut descent).unwrap()
    };
    let (first, second) = (step(), step());
    assert!(scaler.update(first).unwrap().resolve().unwrap().is_applied());
    let error = order_error(scaler.update(second));
    assert!(matches!(error, OrderError::SecondUpdate { .. }), "{error}");
    assert_eq!(scaler.state().unwrap().good_steps, 1);
}

/// 13, the hard one: asked for, since it costs two more backward passes.
#[test]
fn a_backward_pass_that_ignores_the_scaled_loss_is_found_where_it_is_asked_for() {
    let (scaler, _, loss) = start().unwrap();
    scaler.verify_backward(&loss, back).unwrap();
    let error = order_error(scaler.verify_backward(&loss, |_| back(&loss)));
    assert!(matches!(error, OrderError::BackwardIgnoresScale { .. }), "{error}");
}
