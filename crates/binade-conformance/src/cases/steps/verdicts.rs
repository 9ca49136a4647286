//! Conditions of a step: a clip before it, other steps together with it, only its own turn's found-inf result, and matching gradients.

use super::{at_rest, spoilt, variant};
use crate::cases::training::{Move, Run, calm};
use crate::cases::unscale::{Set, one};
use crate::cases::values::{finite, not_finite};
use crate::{Backend, Cases, Clip, Stored};
use binade_core::{DType, ErrorKind};
use binade_grad_scaler::{Norm, ScaleState};
use binade_master_weights::UpdateRule;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2], rule: UpdateRule) {
    clipped(cases, dtypes, rule);
    beside(cases, dtypes, rule);
    own(cases, dtypes, rule);
}

/// Adds cases of sixteen gradients of a half, whose norm of two no arithmetic rounds, and of ones clipped by value.
fn clipped<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2], rule: UpdateRule) {
    let [param, grad, _] = calm(dtypes, 16, 24);
    let halves = grad.values().map(|x| 512.0_f64.copysign(x));
    let halves = Stored::vector(dtypes[1], halves.collect::<Vec<_>>());
    let mut add = |sentence: &str, grad: &Stored, clip: Clip| {
        let turn = Move { clip: Some(clip), ..Move::new(rule, one(grad.clone()), 10) };
        let run = Run::new(vec![("w", param.clone())], vec![turn]);
        cases.add(variant(dtypes), sentence, move |s: &S, check| run.near(s, check));
    };
    let sentence = "a_gradient_is_clipped_by_norm_in_f32_before_the_step";
    add(sentence, &halves, Clip::Norm(Norm::L2, 0.7));
    let sentence = "a_gradient_is_clipped_by_value_in_f32_before_the_step";
    add(sentence, &grad, Clip::Value(0.6));

    let huge = Stored::vector(dtypes[1], finite(6, 16, dtypes[1], [14.0, 15.0]));
    let clip = Some(Clip::Norm(Norm::L2, 1.0));
    let turn = Move { clip, ..Move::new(rule, one(huge), -113) };
    let run = Run::new(vec![("w", param)], vec![turn]);
    let sentence = "a_norm_that_is_not_finite_leaves_every_bit_alone";
    cases.add(variant(dtypes), sentence, move |s: &S, check| run.exact(s, check));
}

/// Adds cases of steps that are skipped together: two raised flags skip as one does.
fn beside<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2], rule: UpdateRule) {
    let [param, good, other] = calm(dtypes, 33, 25);
    let (bad, worse) = (spoilt(&good, f64::INFINITY), spoilt(&other, f64::NAN));
    let run = |own: &Stored, beside: &Stored| {
        let beside = Some(vec![("v", Some(beside.clone()))]);
        let turn = Move { beside, ..Move::new(rule, one(own.clone()), 10) };
        Run::new(vec![("w", param.clone())], vec![turn])
    };
    let finite = run(&good, &other);
    let sentence = "a_finite_set_beside_it_changes_nothing";
    cases.add(variant(dtypes), sentence, move |s: &S, check| finite.near(s, check));
    for (sentence, run) in [
        ("an_overflow_beside_it_leaves_every_bit_alone", run(&good, &worse)),
        ("two_raised_flags_skip_as_one_does", run(&bad, &worse)),
    ] {
        cases.add(variant(dtypes), sentence, move |s: &S, check| run.exact(s, check));
    }
}

/// Adds cases of alternating good and bad turns. The moments are filled first, so that an applied step differs from a skipped one.
fn own<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2], rule: UpdateRule) {
    let [param, first, second] = calm(dtypes, 33, 26);
    let bad = spoilt(&first, f64::INFINITY);
    let sentence = "each_step_goes_by_its_own_verdict";
    let orders: [&[&Stored]; 3] = [&[&bad, &second], &[&second, &bad], &[&bad, &bad, &second]];
    let runs = orders.map(|order| {
        let filled = std::iter::once((at_rest(rule), first.clone()));
        let turns = filled.chain(order.iter().map(|grad| (rule, (*grad).clone())));
        Run::single(param.clone(), turns.collect())
    });
    cases.add(variant(dtypes), sentence, move |s: &S, check| {
        runs.iter().try_for_each(|run| run.near(s, check))
    });
}

/// Adds cases of every class of values that are not finite, at every position.
pub(super) fn classes<S: Backend>(cases: &mut Cases<S>, dtype: DType, rule: UpdateRule) {
    let sentence = "every_nan_and_infinity_leaves_every_bit_alone";
    cases.add(variant([dtype; 2]), sentence, move |s: &S, check| {
        let [param, grad, _] = calm([dtype; 2], 9, 27);
        for (number, code) in not_finite(dtype).into_iter().enumerate() {
            let mut codes: Vec<u64> = grad.codes().collect();
            codes[[8, 0, 4][number % 3]] = code;
            let bad = Stored::from_codes(dtype, &[9], codes);
            Run::single(param.clone(), vec![(rule, bad)]).exact(s, check)?;
        }
        Ok(())
    });
}

/// Adds cases of matching gradients with parameters, and of sets that are refused, on a skipped step too.
pub(super) fn matching<S: Backend>(cases: &mut Cases<S>, dtype: DType, rule: UpdateRule) {
    let [param, grad, other] = calm([dtype; 2], 9, 28);
    let params = vec![("a", param.clone()), ("b", param)];
    let run = move |grads: Set, halted: bool| {
        let mut turn = Move::new(rule, grads, 10);
        turn.scale = ScaleState { diverged: halted, ..turn.scale };
        Run::new(params.clone(), vec![turn])
    };
    let [grad, other] = [grad, other].map(Some);

    let swapped = run(vec![("b", other.clone()), ("a", grad.clone())], false);
    let sentence = "gradients_are_matched_by_name_whatever_their_order";
    cases.add(variant([dtype; 2]), sentence, move |s: &S, check| swapped.near(s, check));

    let short = Some(Stored::vector(dtype, [1.0, 2.0]));
    let wrong = [
        ("a_gradient_without_a_parameter_is_a_mismatch", vec![("c", other.clone())]),
        ("a_gradient_of_another_length_is_a_mismatch", vec![("b", short)]),
        ("a_second_gradient_of_one_name_is_a_mismatch", vec![("a", other)]),
    ];
    for (sentence, grads) in wrong {
        let grads = [vec![("a", grad.clone())], grads].concat();
        let runs = [false, true].map(|halted| run(grads.clone(), halted));
        cases.add(variant([dtype; 2]), sentence, move |s: &S, check| {
            runs.iter().try_for_each(|run| run.refused(s, check, ErrorKind::Mismatch))
        });
    }

    let [applied, skipped] =
        [false, true].map(|halted| run(vec![("a", None), ("b", None)], halted));
    let sentence = "a_step_without_any_gradient_is_refused_unless_it_is_skipped";
    cases.add(variant([dtype; 2]), sentence, move |s: &S, check| {
        applied.refused(s, check, ErrorKind::InvalidArgument)?;
        skipped.exact(s, check)
    });
}
