//! The plain loop on a host tensor of one's own: what a skip says, and what it leaves alone.
mod common;

use binade_core::{DType, Error, ErrorKind};
use binade_grad_scaler::{LossScale, Step};
use common::host::Host;
use common::sgd::Sgd;
use common::{Result, iterate, scaler, train_step, unscaled};

#[test]
fn a_host_tensor_joins_in_under_sixty_lines() {
    let source = include_str!("common/host.rs");
    let own = source.split("// begin").nth(1).and_then(|s| s.split("// end").next()).unwrap();
    let lines = own.lines().filter(|l| !l.trim().is_empty()).count();
    assert!((1..60).contains(&lines), "{lines} lines");
}

#[test]
fn a_skip_names_the_element_and_its_parameter_and_counts_the_rest() -> Result {
    let (mut scaler, mut sgd) =
        (scaler(LossScale::dynamic()), Sgd::new(&[("w", &[1.0; 2]), ("b", &[0.5; 4])]));
    assert!(iterate(&mut scaler, &mut sgd, &[("w", &[0.5; 2]), ("b", &[1.0; 4])])?.is_applied());

    let bad = [0.25, f32::NEG_INFINITY, f32::NAN, f32::INFINITY];
    let step = iterate(&mut scaler, &mut sgd, &[("w", &[0.5; 2]), ("b", &bad)])?;
    let Step::Skipped(report) = step else { panic!("{step:?}") };
    let overflow = report.overflow().expect("one");
    assert_eq!((&*overflow.parameter, overflow.index, overflow.what()), ("b", 1, "-inf"));
    let finding = &report.steps[0].parts[0].finding;
    assert_eq!((finding.infinities, finding.nans), (2, 1));
    assert_eq!(finding.magnitude, 0.5 * 65536.0, "as scaled, over the whole set");
    assert_eq!((report.scale.factor_before(), report.scale.factor()), (65536.0, 32768.0));
    Ok(())
}

#[test]
fn an_overflow_leaves_every_bit_alone_wherever_it_is() -> Result {
    for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::from_bits(0xffc0_1234)] {
        for at in [0, 1, 255, 256, 256 + 32] {
            let (mut scaler, mut sgd) =
                (scaler(LossScale::dynamic()), Sgd::new(&[("w", &[1.0; 257]), ("b", &[0.5; 32])]));
            let mut grads = [1.0; 257 + 32];
            drop(iterate(&mut scaler, &mut sgd, &[("w", &grads[..257]), ("b", &grads[257..])])?);
            let before = sgd.bits();
            grads[at] = bad;
            let set: common::Set<'_> = &[("w", &grads[..257]), ("b", &grads[257..])];
            assert!(!iterate(&mut scaler, &mut sgd, set)?.is_applied(), "{bad} at {at}");
            assert_eq!(sgd.bits(), before, "{bad} at {at}");
            assert!(
                iterate(&mut scaler, &mut sgd, &[("w", &[1.0; 257]), ("b", &[1.0; 32])])?
                    .is_applied()
            );
            assert_ne!(sgd.bits(), before);
        }
    }
    Ok(())
}

#[test]
fn the_generic_step_clips_and_counts() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[("w", &[1.0])]));
    for (x, applied) in [(4.0, true), (f32::NAN, false), (4.0, true)] {
        let outcome = train_step(&mut scaler, &mut sgd, &Host::f32(&[1.0]), |l| {
            Ok(common::times(&[("w", &[x])], l))
        })?;
        assert_eq!(outcome.resolve()?.is_applied(), applied);
    }
    let state = scaler.state()?;
    assert_eq!((state.updates, state.applied(), state.skipped, state.overflows), (3, 2, 1, 1));
    assert_eq!((sgd.steps, sgd.moments[0].data[0]), (2, 1.5), "two gradients clipped to 1");
    Ok(())
}

#[test]
fn losses_of_every_type_are_scaled_in_f32() -> Result {
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let scaled = scaler(LossScale::dynamic()).scale(&Host::new(dtype, &[3.0]))?;
        let _ = scaled.backward(|loss| {
            assert_eq!(loss, &Host::f32(&[3.0 * 65536.0]), "beyond f16 from {dtype}");
            Ok(Vec::new())
        })?;
    }
    Ok(())
}

#[test]
fn an_optimizer_that_knows_no_such_parameter_says_so_and_moves_nothing() -> Result {
    let (scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[("w", &[1.0])]));
    let before = sgd.bits();
    let refused = unscaled(&scaler, &[("typo", &[1.0])])?.step(&mut sgd).expect_err("a typo");
    assert_eq!(refused.kind(), ErrorKind::Mismatch);
    assert!(refused.to_string().contains("typo"), "{refused}");
    assert_eq!(sgd.bits(), before);
    assert_eq!(scaler.state()?.updates, 0);
    Ok(())
}

#[test]
fn a_backward_pass_that_fails_hands_its_error_through() -> Result {
    let scaled = scaler(LossScale::dynamic()).scale(&Host::f32(&[1.0]))?;
    let failed = scaled.backward(|loss| {
        Err(binade_core::AmpTensor::cast(loss, DType::I64).expect_err("no integers").into())
    });
    assert_eq!(failed.expect_err("the cast's").kind(), ErrorKind::Unsupported);
    Ok(())
}

#[test]
fn on_a_host_an_outcome_is_there_at_once() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[("w", &[1.0])]));
    let step = unscaled(&scaler, &[("w", &[1.0])])?.step(&mut sgd)?;
    let resolved = scaler.update(step)?.try_resolve()?;
    assert!(resolved.is_ok_and(|step| step.is_applied()));
    Ok(())
}
