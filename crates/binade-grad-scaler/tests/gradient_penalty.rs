//! A gradient that no optimizer owns: differentiated from a scaled loss, unscaled, and part of the next loss.

use crate::common::sgd::Sgd;
use crate::common::{Result, f32s, finish, first, scaler, times};
use binade_grad_scaler::{LossScale, ScaleState};

#[test]
fn a_penalty_is_made_of_a_gradient_in_its_own_units() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[("critic.w", &[1.0])]));
    let critic = f32s(&[3.0]);
    let loss = scaler.scale(&critic)?;
    scaler.set_state(ScaleState::from_exponent(3))?; // whatever happens to the scaler since
    let gradients = loss.grads(|scaled| {
        assert_eq!(scaled.to_f32(), [3.0 * 65536.0]);
        Ok([scaled.clone()])
    })?;
    assert_eq!(gradients, [f32s(&[3.0])]);

    let penalty = (gradients[0].to_f32()[0] - 1.0).powi(2);
    let total = scaler.scale(&f32s(&[1.0 + 10.0 * penalty]))?;
    let grads = total.backward(|loss| Ok(times(&[("critic.w", &[1.0])], loss)))?.unscale()?;
    assert_eq!(first(grads.grads()), [41.0]);
    assert!(finish(grads, &mut scaler, &mut sgd)?.is_applied());
    Ok(())
}

#[test]
fn what_overflows_in_a_penalty_shows_up_in_the_loss_made_of_it() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let gradients = scaler.scale(&f32s(&[1e35]))?.grads(|s| Ok([s.clone()]))?;
    let step = scaler.scale(&gradients[0])?.backward(|loss| Ok(times(&[("w", &[1.0])], loss)))?;
    assert!(!finish(step.unscale()?, &mut scaler, &mut sgd)?.is_applied());
    Ok(())
}
