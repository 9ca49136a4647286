//! Texts of reports, held to the letter: each names what happened and ends with what to do.

use crate::common::sgd::Sgd;
use crate::common::{Result, Set, f32s, finish, iterate, pair, scaler, unscaled, window};
use binade_core::Named;
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

fn text(rule: LossScale, sets: &[Set<'_>]) -> Result<String> {
    let (mut scaler, mut sgd) = (scaler(rule), Sgd::new(&[]));
    let mut last = String::new();
    for set in sets {
        last = iterate(&mut scaler, &mut sgd, set)?.report().to_string();
    }
    Ok(last)
}

#[test]
fn a_good_step_is_short() -> Result {
    let good: Set<'_> = &[("w", &[1.0])];
    assert_eq!(text(LossScale::dynamic(), &[good, good])?, "step 2 applied; scale 65536");
    let eager = LossScale::dynamic().with_growth_interval(1).unwrap();
    assert_eq!(text(eager, &[good])?, "step 1 applied; scale 65536 -> 131072");
    Ok(())
}

#[test]
fn a_notice_ends_the_report_for_as_long_as_it_is_given() -> Result {
    let given = Arc::new(AtomicBool::new(true));
    let told = given.clone();
    let mut scaler = scaler(LossScale::dynamic())
        .with_notice(move || told.load(Ordering::Relaxed).then_some("Look at the region"));
    let (mut sgd, good): (_, Set<'_>) = (Sgd::new(&[]), &[("w", &[1.0])]);
    let step = iterate(&mut scaler, &mut sgd, good)?;
    assert_eq!(step.report().notice.as_deref().map(AsRef::as_ref), Some("Look at the region"));
    let text = "step 1 applied; scale 65536. Look at the region";
    assert_eq!(step.report().to_string(), text);
    assert!(step.report().is_remarkable(), "so that a loop prints it");
    given.store(false, Ordering::Relaxed);
    let text = iterate(&mut scaler, &mut sgd, good)?.report().to_string();
    assert_eq!(text, "step 2 applied; scale 65536");
    Ok(())
}

#[test]
fn an_overflow_that_a_lower_scale_cures_asks_for_nothing() -> Result {
    assert_eq!(
        text(LossScale::dynamic(), &[&[("w", &[1.0])], &[("w", &[0.5, f32::INFINITY])]])?,
        "step 2 skipped; w[1] is +inf (1 infinite, 0 NaN, largest finite 3.2768e4); scale 65536 -> 32768; 1 skipped \
         in a row, 1 of 2 in all. The next loss is scaled less: nothing to do unless this stays"
    );
    Ok(())
}

#[test]
fn a_nan_sends_you_to_the_model() -> Result {
    assert_eq!(
        text(LossScale::dynamic(), &[&[("decoder.bias", &[f32::NAN])]])?,
        "step 1 skipped; decoder.bias[0] is NaN (0 infinite, 1 NaN, largest finite 0e0); scale 65536 -> 32768; 1 \
         skipped in a row, 1 of 1 in all. A lower scale cures NaN only where an overflow inside backward made it: if it stays, look at the loss and at the \
         operation before this parameter"
    );
    Ok(())
}

#[test]
fn a_scale_that_does_not_move_says_how_to_move_it() -> Result {
    assert_eq!(
        text(LossScale::fixed(2.0_f32.powi(30)).unwrap(), &[&[("w", &[f32::NEG_INFINITY])]])?,
        "step 1 skipped; w[0] is -inf (1 infinite, 0 NaN, largest finite 0e0); scale 2^30; 1 skipped in a row, 1 of 1 \
         in all. The rule keeps the scale where it is: if this stays, start lower or let the rule back off"
    );
    Ok(())
}

#[test]
fn divergence_says_how_to_go_on() -> Result {
    let rule = LossScale::none().with_patience(1);
    let bad: Set<'_> = &[("w", &[f32::INFINITY])];
    let advice = "The run has diverged and later steps of scaled losses are skipped: lower the learning rate or clip, then go on from \
                  a checkpoint with `Scaler::set_state`";
    assert_eq!(
        text(rule, &[bad])?,
        format!(
            "step 1 skipped; w[0] is +inf (1 infinite, 0 NaN, largest finite 0e0); scale 1; 1 skipped in a row, 1 of 1 \
             in all. {advice}"
        )
    );
    assert_eq!(
        text(rule, &[bad, &[("w", &[1.0])]])?,
        format!(
            "step 2 skipped; halted, since the run had diverged; scale 1; 2 skipped in a row, 2 of 2 in all. {advice}"
        )
    );
    Ok(())
}

#[test]
fn a_gradient_beyond_f32_is_not_blamed_on_the_scale() -> Result {
    let rule = LossScale::dynamic().with_limits(2.0_f32.powi(-40), 2.0_f32.powi(24)).unwrap();
    let (mut scaler, mut sgd) = (scaler(rule), Sgd::new(&[]));
    scaler.set_state(ScaleState::from_exponent(-40))?;
    let step = scaler.scale(&f32s(&[1.0]))?;
    let step = step.backward(|_| Ok(vec![Named::new("w", Some(f32s(&[1e30])))]))?;
    let step = finish(step.unscale()?, &mut scaler, &mut sgd)?;
    assert_eq!(
        step.report().to_string(),
        "step 1 skipped; w[0] is +inf once unscaled (1e30 before) (1 infinite, 0 NaN, largest finite 1e30); scale \
         2^-40; 1 skipped in a row, 1 of 1 in all. No scale cures this, since the gradients themselves are too large \
         for f32: look at the loss and at the learning rate. The run has diverged and later steps of scaled losses are skipped: lower \
         the learning rate or clip, then go on from a checkpoint with `Scaler::set_state`"
    );
    Ok(())
}

#[test]
fn a_norm_has_no_index_and_counts_no_element() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::none()), Sgd::new(&[]));
    let step =
        finish(unscaled(&scaler, &[("w", &[3e38, 3e38])])?.clip_norm(1.0)?, &mut scaler, &mut sgd)?;
    assert_eq!(
        step.report().to_string(),
        "step 1 skipped; the norm of all gradients is +inf; scale 1; 1 skipped in a row, 1 of 1 in all. No scale cures \
         this, since the gradients themselves are too large for f32: look at the loss and at the learning rate"
    );
    Ok(())
}

#[test]
fn a_micro_batch_that_was_left_out_is_named_though_the_step_was_applied() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let step = finish(
        window(&scaler, BadMicroBatch::Drop, &[1.0, f32::INFINITY])?.named("generator"),
        &mut scaler,
        &mut sgd,
    )?;
    assert_eq!(
        step.report().to_string(),
        "step 1 applied without 1 of 2 micro-batches; generator, micro-batch 1: w[0] is +inf (1 infinite, 0 NaN, largest finite 0e0), left out of \
         the sum; scale 65536 -> 32768. The next loss is scaled less: nothing to do unless this stays"
    );
    Ok(())
}

#[test]
fn a_window_of_bad_micro_batches_only_does_not_ask_for_gradients_that_were_there() -> Result {
    let (mut scaler, mut sgd) = pair();
    let step = finish(
        window(&scaler, BadMicroBatch::Drop, &[f32::NEG_INFINITY, f32::INFINITY])?,
        &mut scaler,
        &mut sgd,
    )?;
    assert_eq!(step.report().missing().count(), 0);
    assert_eq!(
        step.report().to_string(),
        "step 1 skipped; micro-batch 0: w[0] is -inf (1 infinite, 0 NaN, largest finite 0e0); micro-batch 1: w[0] is \
         +inf (1 infinite, 0 NaN, largest finite 0e0); scale 65536 -> 32768; 1 skipped in a row, 1 of 1 in all. The \
         next loss is scaled less: nothing to do unless this stays"
    );
    Ok(())
}

#[test]
fn a_parameter_without_a_gradient_is_named() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let grads = scaler.check_unscaled(vec![Named::new("frozen", None)])?;
    let step = finish(grads, &mut scaler, &mut sgd)?;
    assert_eq!(
        step.report().to_string(),
        "step 1 applied; no gradient for frozen; scale 65536. Let the loss depend on a parameter that has no gradient, \
         or take it out of the set"
    );
    Ok(())
}

#[test]
fn two_optimizers_are_told_apart() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let d = unscaled(&scaler, &[("d.w", &[1.0])])?.named("discriminator").step(&mut sgd)?;
    let g = unscaled(&scaler, &[("g.w", &[f32::INFINITY])])?.named("generator").step(&mut sgd)?;
    assert_eq!(
        scaler.update(d.and(g))?.resolve()?.report().to_string(),
        "step 1 skipped for 1 of 2 (generator); generator: g.w[0] is +inf (1 infinite, 0 NaN, largest finite 0e0); \
         scale 65536 -> 32768; 1 skipped in a row, 1 of 1 in all. The next loss is scaled less: nothing to do unless \
         this stays"
    );
    Ok(())
}

#[test]
fn printing_a_value_of_the_order_reads_no_gradient() -> Result {
    let scaler = scaler(LossScale::dynamic());
    assert_eq!(format!("{:?}", unscaled(&scaler, &[("w", &[1.0])])?), "UnscaledGrads { .. }");
    assert!(format!("{scaler:?}").contains("growth_interval: 2000"));
    Ok(())
}

#[test]
fn a_nan_beside_an_infinity_is_an_overflow_inside_backward() -> Result {
    let said = text(LossScale::dynamic(), &[&[("w", &[f32::NAN, f32::INFINITY])]])?;
    assert!(said.contains("w[0] is NaN (1 infinite, 1 NaN"), "{said}");
    assert!(
        said.ends_with("The next loss is scaled less: nothing to do unless this stays"),
        "{said}"
    );
    Ok(())
}

#[test]
fn a_loss_that_nobody_scales_up_sends_you_to_the_learning_rate() -> Result {
    let said = text(LossScale::none(), &[&[("w", &[f32::INFINITY])]])?;
    assert!(said.ends_with("look at the loss and at the learning rate"), "{said}");
    assert!(said.contains("no lower scale would help"), "{said}");
    Ok(())
}

#[test]
fn a_report_is_debugged_in_the_words_that_main_would_print() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let step = iterate(&mut scaler, &mut sgd, &[("w", &[1.0])])?;
    assert_eq!(format!("{:?}", step.report()), "step 1 applied; scale 65536");
    Ok(())
}

#[test]
fn a_norm_of_a_windows_sum_is_not_blamed_on_a_step_skipped_together() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::none()), Sgd::new(&[]));
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    window.add(unscaled(&scaler, &[("w", &[3e38, 3e38])])?)?;
    let step = window.finish()?.expect("one").named("generator").clip_norm(1.0)?.step(&mut sgd)?;
    let said = scaler.update(step)?.resolve()?.report().to_string();
    let told = "step 1 skipped; generator: the norm of all gradients is +inf; scale 1; ";
    assert!(said.starts_with(told), "{said}");
    Ok(())
}

#[test]
fn a_missing_gradient_is_named_though_the_step_was_skipped() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let bad = Named::new("w", Some(f32s(&[f32::INFINITY])));
    let step = scaler.check_unscaled(vec![bad, Named::new("frozen", None)])?.step(&mut sgd)?;
    let said = scaler.update(step)?.resolve()?.report().to_string();
    assert!(said.starts_with("step 1 skipped; w[0] is +inf "), "{said}");
    assert!(said.contains("; no gradient for frozen; scale"), "{said}");
    Ok(())
}
