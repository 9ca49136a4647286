//! Micro-batches summed in f32: a bad one is named and may be left out; a change of scale in between is exact.

use crate::common::sgd::Sgd;
use crate::common::{
    Host, HostScaler, Result, bad_parts, f32s, finish, first, host, iterate, rule, scaler,
    unscaled, window,
};
use binade_core::{DType, Named};
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState, Step};

/// A window of these gradients of one weight, which starts at 0 and ends at a tenth of minus their sum.
fn run(bad: BadMicroBatch, batches: &[f32]) -> Result<(Step, f32)> {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[("w", &[0.0])]));
    let step = window(&scaler, bad, batches)?.step(&mut sgd)?;
    Ok((scaler.update(step)?.resolve()?, sgd.first()[0]))
}

#[test]
fn a_nan_in_micro_batch_three_of_four_is_named_left_out_and_backs_off_once() -> Result {
    let (step, w) = run(BadMicroBatch::Drop, &[1.0, 2.0, f32::NAN, 4.0])?;
    assert!(step.is_applied());
    assert_eq!((bad_parts(&step), w), (vec!["micro-batch 2"], -0.1 * 7.0));
    let scale = step.report().scale;
    assert_eq!((scale.exponent, scale.updates, scale.overflows, scale.skipped), (15, 1, 1, 0));
    Ok(())
}

#[test]
fn or_it_skips_the_window() -> Result {
    let (step, w) = run(BadMicroBatch::SkipWindow, &[1.0, 2.0, f32::NAN, 4.0])?;
    assert!(matches!(step, Step::Skipped(_)), "{step:?}");
    assert_eq!((bad_parts(&step), w), (vec!["micro-batch 2"], 0.0));
    assert_eq!((step.report().scale.exponent, step.report().scale.skipped), (15, 1));
    Ok(())
}

fn add(
    scaler: &HostScaler,
    dtype: DType,
    x: f32,
    window: &mut binade_grad_scaler::Accumulation<binade_core::HostDevice<Host>>,
) -> Result {
    let grads = scaler.scale(&f32s(&[1.0]))?.backward(|factor| {
        Ok(vec![Named::new("w", Some(host(dtype, &[x * factor.to_f32()[0]])))])
    })?;
    window.add(grads.unscale()?)
}

#[test]
fn a_window_that_lost_its_sum_to_an_error_is_refused_until_it_is_begun_again() -> Result {
    const LOST: &str =
        "micro-batch 2 could not be added, and the sum before it is lost: begin the window again";
    let scaler = scaler(LossScale::dynamic());
    let batch = |name, x| unscaled(&scaler, &[(name, &[x])]);
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    window.add(batch("w", 1.0)?)?;
    window.add(batch("w", 1.0)?)?;
    let wrong = window.add(batch("other", 1.0)?).unwrap_err();
    assert!(wrong.to_string().starts_with("`other`: micro-batches of one window"), "{wrong}");
    let refused = [
        window.save().err(),
        window.add(batch("w", 1.0)?).err(),
        window.add(batch("w", 1.0)?).err(),
        window.finish().err(),
    ];
    for refused in refused.map(|error| error.expect("a refusal").to_string()) {
        assert!(refused.starts_with(LOST), "{refused}");
    }
    Ok(())
}

#[test]
fn a_scale_that_grows_between_micro_batches_changes_no_bit() -> Result {
    let terms = [0.1_f32, 1.0e-3, 7.0e4, 0.3];
    let exact = terms.iter().fold(0.0, |sum, x| sum + x);
    let (mut scaler, mut other) = (scaler(rule(|r| r.growth_interval = 1)), Sgd::new(&[]));
    let mut window = scaler.accumulate(BadMicroBatch::SkipWindow);
    for (i, x) in terms.into_iter().enumerate() {
        assert_eq!(scaler.state()?.exponent, 16 + i32::try_from(i).unwrap());
        add(&scaler, DType::F32, x, &mut window)?;
        drop(iterate(&mut scaler, &mut other, &[("other", &[1.0])])?); // its update grows the shared scale
    }
    let sum = window.finish()?.expect("four");
    assert_eq!(first(sum.grads())[0].to_bits(), exact.to_bits());
    Ok(())
}

#[test]
fn sixteen_bit_gradients_are_summed_in_f32() -> Result {
    // bf16 would stop at 256 and f16 at 2048.
    for (dtype, large) in [(DType::BF16, 256.0), (DType::F16, 2048.0)] {
        let mut scaler = scaler(LossScale::dynamic());
        let mut window = scaler.accumulate(BadMicroBatch::SkipWindow);
        for (exponent, x) in [(3, large), (3, 1.0), (12, 0.125)] {
            scaler.set_state(ScaleState::from_exponent(exponent))?;
            add(&scaler, dtype, x, &mut window)?;
        }
        let sum = window.finish()?.expect("three");
        assert_eq!(sum.grads()[0].value, Some(f32s(&[large + 1.125])), "{dtype}");
    }
    Ok(())
}

#[test]
fn a_window_is_clipped_as_a_whole_and_its_norm_is_the_sums() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for set in [[3.0, 0.0], [0.0, 4.0]] {
        window.add(unscaled(&scaler, &[("w", &set)])?)?;
    }
    let step = finish(window.finish()?.expect("two").clip_norm(10.0)?, &mut scaler, &mut sgd)?;
    assert_eq!(step.report().steps[0].norm, Some(5.0));
    Ok(())
}

#[test]
fn norms_of_clipped_micro_batches_stay_with_their_parts() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for x in [2.0, 8.0] {
        window.add(unscaled(&scaler, &[("w", &[x])])?.clip_norm(1.0)?)?;
    }
    let step = finish(window.finish()?.expect("two"), &mut scaler, &mut sgd)?;
    let summary = &step.report().steps[0];
    let norms: Vec<_> = summary.parts.iter().map(|p| p.finding.norm).collect();
    assert_eq!((norms, summary.norm), (vec![Some(2.0), Some(8.0), None], None));
    Ok(())
}

#[test]
fn finite_parts_that_add_up_to_infinity_skip_the_window() -> Result {
    let mut sgd = Sgd::new(&[("w", &[1.0])]);
    let mut scaler = scaler(LossScale::none());
    let sum = window(&scaler, BadMicroBatch::Drop, &[f32::NAN, 3e38, 3e38])?;
    let step = finish(sum, &mut scaler, &mut sgd)?;
    assert_eq!((step.is_applied(), bad_parts(&step)), (false, vec!["micro-batch 0", "sum"]));
    assert_eq!(sgd.first(), [1.0]);
    let text = step.report().to_string();
    assert!(text.contains("; sum: w[0] is +inf"), "{text}");
    Ok(())
}

#[test]
fn a_window_within_a_window_keeps_what_its_parts_found() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[("w", &[0.0])]));
    let mut inner = scaler.accumulate(BadMicroBatch::Drop);
    inner.add(unscaled(&scaler, &[("w", &[f32::INFINITY])])?)?;
    inner.add(unscaled(&scaler, &[("w", &[1.0])])?)?;
    let mut outer = scaler.accumulate(BadMicroBatch::Drop);
    outer.add(inner.finish()?.expect("two").named("left"))?;
    outer.add(unscaled(&scaler, &[("w", &[2.0])])?)?;
    let step = finish(outer.finish()?.expect("two"), &mut scaler, &mut sgd)?;
    assert!(step.is_applied());
    assert_eq!(bad_parts(&step), ["micro-batch 0 (left), micro-batch 0"]);
    assert_eq!((step.report().scale.exponent, step.report().scale.overflows), (15, 1));
    Ok(())
}
