//! Which gradient belongs to which parameter, and what is refused, on a step that is skipped too.

use super::variant;
use crate::cases::training::{Move, Run, calm};
use crate::cases::unscale::Set;
use crate::{Backend, Cases, Stored};
use binade_core::{DType, ErrorKind};
use binade_grad_scaler::ScaleState;
use binade_master_weights::UpdateRule;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>, dtype: DType, rule: UpdateRule) {
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
