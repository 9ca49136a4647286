//! Texts of reports, held to the letter: each names what happened and ends with what to do.

use crate::common::sgd::Sgd;
use crate::common::{HostScaler, Result, Unscaled, finish, scaler, unscaled, w, window};
use binade_core::Named;
use binade_grad_scaler::{BadMicroBatch::Drop, LossScale, ScaleState};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Gradients of an iteration.
type Grads = fn(&HostScaler) -> Result<Unscaled>;

const INF: f32 = f32::INFINITY;
const GOOD: Grads = |scaler| unscaled(scaler, &[("w", &[1.0])]);
const BAD: Grads = |scaler| unscaled(scaler, &[("w", &[INF])]);

/// The last of these iterations' reports, which is remarkable unless a step went as it should.
fn text(rule: LossScale, iterations: &[Grads]) -> Result<String> {
    let (mut scaler, mut last) = (scaler(rule), String::new());
    if rule.min_exponent == -40 {
        scaler.set_state(ScaleState::from_exponent(-40))?;
    }
    for grads in iterations {
        let step = finish(grads(&scaler)?, &mut scaler, &mut Sgd::new(&[]))?;
        last = step.report().to_string();
        assert_eq!(format!("{:?}", step.report()), last, "as `main` would print it");
        assert_eq!(step.report().is_remarkable(), !last.contains("applied; scale"), "{last}");
    }
    Ok(last)
}

#[test]
fn each_report_names_what_happened_and_what_to_do() -> Result {
    let dynamic = LossScale::dynamic();
    let eager = dynamic.with_growth_interval(1).expect("above 0");
    let impatient = LossScale::none().with_patience(1);
    let low = dynamic.with_limits(2.0_f32.powi(-40), 2.0_f32.powi(24)).expect("in order");
    let rows: [(LossScale, &[Grads], &str); 15] = [
        (dynamic, &[GOOD, GOOD], "step 2 applied; scale 65536"),
        (eager, &[GOOD], "step 1 applied; scale 65536 -> 131072"),
        (
            dynamic,
            &[GOOD, |s| unscaled(s, &[("w", &[0.5, INF])])],
            "step 2 skipped; w[1] is +inf (1 infinite, 0 NaN, largest finite 3.2768e4); scale 65536 -> 32768; 1 skipped in a \
             row, 1 of 2 in all. The next loss is scaled less: nothing to do unless this stays",
        ),
        (
            dynamic,
            &[|s| unscaled(s, &[("decoder.bias", &[f32::NAN])])],
            "step 1 skipped; decoder.bias[0] is NaN (0 infinite, 1 NaN, largest finite 0); scale 65536 -> 32768; 1 skipped in \
             a row, 1 of 1 in all. A lower scale cures NaN only where an overflow inside backward made it: if it stays, look at \
             the loss and at the operation before this parameter",
        ),
        (
            dynamic,
            &[|s| unscaled(s, &[("w", &[f32::NAN, INF])])],
            "step 1 skipped; w[0] is NaN (1 infinite, 1 NaN, largest finite 0); scale 65536 -> 32768; 1 skipped in a row, 1 of \
             1 in all. The next loss is scaled less: nothing to do unless this stays",
        ),
        (
            LossScale::fixed(2.0_f32.powi(30)).expect("in reach"),
            &[|s| unscaled(s, &[("w", &[-INF])])],
            "step 1 skipped; w[0] is -inf (1 infinite, 0 NaN, largest finite 0); scale 2^30; 1 skipped in a row, 1 of 1 in \
             all. The rule keeps the scale where it is: if this stays, start lower or let the rule back off",
        ),
        (
            LossScale::none(),
            &[BAD],
            "step 1 skipped; w[0] is +inf (1 infinite, 0 NaN, largest finite 0); scale 1; 1 skipped in a row, 1 of 1 in all. The \
             loss is not scaled up, so no lower scale would help: look at the loss and at the learning rate",
        ),
        (
            impatient,
            &[BAD],
            "step 1 skipped; w[0] is +inf (1 infinite, 0 NaN, largest finite 0); scale 1; 1 skipped in a row, 1 of 1 in all. \
             The run has diverged and later steps of scaled losses are skipped: lower the learning rate or clip, then go on from \
             a checkpoint with `Scaler::set_state`",
        ),
        (
            impatient,
            &[BAD, GOOD],
            "step 2 skipped; halted, since the run had diverged; scale 1; 2 skipped in a row, 2 of 2 in all. The run has diverged \
             and later steps of scaled losses are skipped: lower the learning rate or clip, then go on from a checkpoint with \
             `Scaler::set_state`",
        ),
        (
            low,
            &[|s| s.scale(&crate::common::f32s(&[1.0]))?.backward(|_| Ok(w(&[1e30])))?.unscale()],
            "step 1 skipped; w[0] is +inf once unscaled (1e30 before) (1 infinite, 0 NaN, largest finite 1e30); scale 2^-40; 1 \
             skipped in a row, 1 of 1 in all. No scale cures this, since the gradients themselves are too large for f32: look at \
             the loss and at the learning rate. The run has diverged and later steps of scaled losses are skipped: lower the \
             learning rate or clip, then go on from a checkpoint with `Scaler::set_state`",
        ),
        (
            LossScale::none(),
            &[|s| unscaled(s, &[("w", &[3e38, 3e38])])?.clip_norm(1.0)],
            "step 1 skipped; the norm of all gradients is +inf; scale 1; 1 skipped in a row, 1 of 1 in all. No scale cures this, \
             since the gradients themselves are too large for f32: look at the loss and at the learning rate",
        ),
        (
            dynamic,
            &[|s| Ok(window(s, Drop, &[1.0, INF])?.named("generator"))],
            "step 1 applied without 1 of 2 micro-batches; generator, micro-batch 1: w[0] is +inf (1 infinite, 0 NaN, largest \
             finite 0), left out of the sum; scale 65536 -> 32768. The next loss is scaled less: nothing to do unless this \
             stays",
        ),
        (
            dynamic,
            &[|s| window(s, Drop, &[-INF, INF])],
            "step 1 skipped; micro-batch 0: w[0] is -inf (1 infinite, 0 NaN, largest finite 0); micro-batch 1: w[0] is +inf (1 \
             infinite, 0 NaN, largest finite 0); scale 65536 -> 32768; 1 skipped in a row, 1 of 1 in all. The next loss is \
             scaled less: nothing to do unless this stays",
        ),
        (
            dynamic,
            &[|s| s.check_unscaled(vec![Named::new("frozen", None)])],
            "step 1 applied; no gradient for frozen; scale 65536. Let the loss depend on a parameter that has no gradient, or \
             take it out of the set",
        ),
        (
            dynamic,
            &[|s| s.check_unscaled([w(&[INF]), vec![Named::new("frozen", None)]].concat())],
            "step 1 skipped; w[0] is +inf (1 infinite, 0 NaN, largest finite 0); no gradient for frozen; scale 65536 -> 32768; 1 \
             skipped in a row, 1 of 1 in all. The next loss is scaled less: nothing to do unless this stays. Let the \
             loss depend on a parameter that has no gradient, or take it out of the set",
        ),
    ];
    for (rule, iterations, expected) in rows {
        assert_eq!(text(rule, iterations)?, expected);
    }
    Ok(())
}

#[test]
fn a_notice_ends_the_report_for_as_long_as_it_is_given() -> Result {
    let given = Arc::new(AtomicBool::new(true));
    let told = given.clone();
    let mut scaler = scaler(LossScale::dynamic())
        .with_notice(move || told.load(Ordering::Relaxed).then_some("Look at the region"));
    let mut sgd = Sgd::new(&[]);
    let step = finish(GOOD(&scaler)?, &mut scaler, &mut sgd)?;
    assert_eq!(step.report().notice.as_deref().map(AsRef::as_ref), Some("Look at the region"));
    assert_eq!(step.report().to_string(), "step 1 applied; scale 65536. Look at the region");
    assert!(step.report().is_remarkable(), "so that a loop prints it");
    given.store(false, Ordering::Relaxed);
    let step = finish(GOOD(&scaler)?, &mut scaler, &mut sgd)?;
    assert_eq!(step.report().to_string(), "step 2 applied; scale 65536");
    Ok(())
}

#[test]
fn two_optimizers_are_told_apart() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    let d = unscaled(&scaler, &[("d.w", &[1.0])])?.named("discriminator").step(&mut sgd)?;
    let g = unscaled(&scaler, &[("g.w", &[INF])])?.named("generator").step(&mut sgd)?;
    assert_eq!(
        scaler.update(d.and(g))?.resolve()?.report().to_string(),
        "step 1 skipped for 1 of 2 (generator); generator: g.w[0] is +inf (1 infinite, 0 NaN, largest finite 0); \
         scale 65536 -> 32768; 1 skipped in a row, 1 of 1 in all. The next loss is scaled less: nothing to do unless \
         this stays"
    );
    Ok(())
}

#[test]
fn a_norm_of_a_windows_sum_is_not_blamed_on_a_step_skipped_together() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::none()), Sgd::new(&[]));
    let mut window = scaler.accumulate(Drop);
    window.add(unscaled(&scaler, &[("w", &[3e38, 3e38])])?)?;
    let grads = window.finish()?.expect("one").named("generator").clip_norm(1.0)?;
    let said = finish(grads, &mut scaler, &mut sgd)?.report().to_string();
    let told = "step 1 skipped; generator: the norm of all gradients is +inf; scale 1; ";
    assert!(said.starts_with(told), "{said}");
    Ok(())
}

#[test]
fn printing_a_value_of_the_order_reads_no_gradient() -> Result {
    let scaler = scaler(LossScale::dynamic());
    assert_eq!(format!("{:?}", GOOD(&scaler)?), "UnscaledGrads { .. }");
    assert!(format!("{scaler:?}").contains("growth_interval: 2000"));
    Ok(())
}
