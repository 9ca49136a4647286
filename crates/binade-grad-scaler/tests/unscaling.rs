//! Unscaling checks both forms of every value, and loses nothing to f16 again.

use crate::common::sgd::Sgd;
use crate::common::{HostScaler, Result, f32s, finish, first, host, scaler, unscaled};
use binade_core::{DType, Named};
use binade_grad_scaler::{LossScale, ScaleState, Step};

/// A rule that may go below 1, at `2^exponent`.
fn at(exponent: i32) -> Result<HostScaler> {
    let mut scaler = scaler(
        LossScale::dynamic().with_limits(2.0_f32.powi(-100), 2.0_f32.powi(24)).expect("limits"),
    );
    scaler.set_state(ScaleState::from_exponent(exponent))?;
    Ok(scaler)
}

fn found(scaler: &mut HostScaler, gradient: &[f32]) -> Result<Step> {
    let grads = scaler.scale(&f32s(&[1.0]))?;
    let grads = grads.backward(|_| Ok(vec![Named::new("w", Some(f32s(gradient)))]))?;
    finish(grads.unscale()?, scaler, &mut Sgd::new(&[]))
}

#[test]
fn finite_as_scaled_and_infinite_once_unscaled_is_a_skip() -> Result {
    let step = found(&mut at(-20)?, &[1.0, 1e33])?;
    let Step::Skipped(report) = step else { panic!("{step:?}") };
    let overflow = report.overflow().expect("one");
    assert_eq!((overflow.index, overflow.scaled, overflow.what()), (1, 1e33, "+inf"));
    assert_eq!(overflow.unscaled, f32::INFINITY);
    assert_eq!(report.scale.exponent, -21);
    Ok(())
}

#[test]
fn infinite_as_scaled_is_a_skip_though_the_gradient_would_fit() -> Result {
    let mut scaler = at(24)?;
    let step = unscaled(&scaler, &[("w", &[1e35])])?.step(&mut Sgd::new(&[]))?;
    assert!(!scaler.update(step)?.resolve()?.is_applied());
    Ok(())
}

#[test]
fn what_scaling_rescued_in_f16_survives_unscaling() -> Result {
    let tiny = 2.0_f32.powi(-30); // an f16 ends at 2^-24; scaled by 2^16, this is 2^-14
    let grads = scaler(LossScale::dynamic()).scale(&f32s(&[tiny]))?;
    let grads = grads.backward(|loss| {
        let half = host(DType::F16, &loss.to_f32());
        Ok(vec![Named::new("w", Some(half))])
    })?;
    let grads = grads.unscale()?;
    assert_eq!(grads.grads()[0].value, Some(f32s(&[tiny])));
    Ok(())
}

#[test]
fn gradients_are_divided_by_the_scale_they_were_made_with() -> Result {
    let mut scaler = scaler(LossScale::dynamic());
    let early = crate::common::backward(&scaler, &[("w", &[0.3])])?;
    for exponent in [0, 24, 7] {
        scaler.set_state(ScaleState::from_exponent(exponent))?;
    }
    assert_eq!(first(early.unscale()?.grads()), [0.3]);
    Ok(())
}

#[test]
fn another_librarys_scale_is_kept_and_divided_by_its_reciprocal() -> Result {
    let mut scaler = scaler(LossScale::dynamic());
    scaler.set_state(ScaleState::import(3000.0).expect("usable"))?;
    let grads = unscaled(&scaler, &[("w", &[1.0, 0.1])])?;
    for (got, want) in first(grads.grads()).iter().zip([1.0_f32, 0.1]) {
        assert!((got / want - 1.0).abs() <= 2.0 * f32::EPSILON, "{got} for {want}");
    }
    let step = found(&mut scaler, &[f32::INFINITY])?;
    assert_eq!(step.report().scale.factor(), 1500.0);
    assert!(step.report().to_string().contains("scale 3000 -> 1500"), "{}", step.report());
    Ok(())
}

#[test]
fn an_injected_nan_is_found_in_bf16_though_the_scale_is_one() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::none()), Sgd::new(&[("w", &[1.0])]));
    let grads = scaler.scale(&host(DType::BF16, &[1.0]))?;
    let nan = host(DType::BF16, &[f32::NAN]);
    let step = finish(
        grads.backward(|_| Ok(vec![Named::new("w", Some(nan))]))?.unscale()?,
        &mut scaler,
        &mut sgd,
    )?;
    let Step::Skipped(report) = step else { panic!("{step:?}") };
    assert_eq!((report.scale.factor(), report.scale.skipped, sgd.steps), (1.0, 1, 0));
    Ok(())
}
