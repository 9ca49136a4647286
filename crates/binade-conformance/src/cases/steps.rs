//! Fused steps of every optimizer: the arithmetic, the masters, and skips that change nothing.

mod verdicts;

use super::cast::value;
use super::prelude::*;
use super::training::{Move, Run, at_rest, calm, wild};
use binade_grad_scaler::ScaleState;
use binade_master_weights::UpdateRule;

/// Adds the cases for each rule of an optimizer. The last rule has every option on, weight decay included.
pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>, rules: &[(&'static str, UpdateRule)]) {
    for param in FLOATS {
        for grad in FLOATS {
            for (name, rule) in rules {
                arithmetic(cases, [param, grad], name, *rule);
            }
            if let Some((_, rule)) = rules.last() {
                skips(cases, [param, grad], *rule);
                verdicts::add_cases(cases, [param, grad], *rule);
            }
        }
        if let Some((_, rule)) = rules.last() {
            lengths(cases, param, *rule);
            starts(cases, param, *rule);
            at_edges(cases, param, *rule);
            verdicts::classes(cases, param, *rule);
            verdicts::matching(cases, param, *rule);
        }
    }
}

/// `bf16<-f16`: a parameter and its gradient.
pub(super) fn variant([param, grad]: [DType; 2]) -> String {
    format!("{param}<-{grad}")
}

/// Adds cases of a first step, and of a second step from a state that is the same on every device.
fn arithmetic<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2], name: &str, rule: UpdateRule) {
    let all_bits = cases.agreement() == Agreement::Bits;
    let values = if all_bits { wild } else { calm };
    cases.add(variant(dtypes), format!("first_step_{name}"), move |s: &S, check| {
        for make in [calm, values] {
            let [param, grad, _] = make(dtypes, 257, 21);
            Run::single(param, vec![(rule, grad)]).near(s, check)?;
        }
        Ok(())
    });
    cases.add(variant(dtypes), format!("second_step_{name}"), move |s: &S, check| {
        for make in [calm, values] {
            let [param, first, second] = make(dtypes, 257, 22);
            Run::single(param, vec![(at_rest(rule), first), (rule, second)]).near(s, check)?;
        }
        Ok(())
    });
}

/// Adds cases of every length. A second step reads moments that are not zero, and a third at rest shows the masters that it left.
fn lengths<S: Backend>(cases: &mut Cases<S>, dtype: DType, rule: UpdateRule) {
    let dtypes = [dtype, dtype];
    cases.lengths(
        variant(dtypes),
        LENGTHS.into_iter().chain([LONG[2]]),
        move |s: &S, check, length| {
            let [param, first, second] = calm(dtypes, length, length);
            let rest = (at_rest(rule), first);
            Run::single(param, vec![rest.clone(), (rule, second), rest]).near(s, check)
        },
    );
}

/// Adds cases of unaligned and strided parameters and gradients, with the same layout and with different ones.
fn starts<S: Backend>(cases: &mut Cases<S>, dtype: DType, rule: UpdateRule) {
    let dtypes = [dtype, dtype];
    cases.views(variant(dtypes), move |s: &S, check, layout, length| {
        let [param, grad, _] = calm(dtypes, length, length).map(|vector| vector.view(layout));
        let row_major = Layout::Offset(0);
        for layouts in [[layout, layout], [row_major, layout], [layout, row_major]] {
            let lie = |of: &Stored, layout| Stored { layout, ..of.clone() };
            let [param, grad] = [lie(&param, layouts[0]), lie(&grad, layouts[1])];
            Run::single(param, vec![(rule, grad)]).near(s, check)?;
        }
        Ok(())
    });
}

/// Adds a case of parameters at the edges of their format, each in every lane of a vector. A gradient of zero leaves them unchanged. Infinite
/// parameters and NaN are included if all bits are compared; otherwise a device may add zero times infinity.
fn at_edges<S: Backend>(cases: &mut Cases<S>, dtype: DType, rule: UpdateRule) {
    let normal = |code: &u64| value(*code, dtype).abs() >= value(1 << 23, DType::F32);
    let flushes = !cases.arithmetic().keeps_subnormals;
    let all_bits = cases.agreement() == Agreement::Bits;
    let codes = awkward(dtype).into_iter().filter(|code| !flushes || normal(code));
    let codes = codes.filter(|code| all_bits || value(*code, dtype).is_finite());
    let codes: Vec<u64> = codes.flat_map(|code| [code; 8]).collect();
    let sentence = "a_gradient_of_zero_keeps_subnormal_and_largest_parameters";
    cases.add(variant([dtype; 2]), sentence, move |s: &S, check| {
        let param = Stored::code_vector(dtype, codes.clone());
        let zero = Stored::vector(dtype, vec![0.0; codes.len()]);
        Run::single(param, vec![(still(rule), zero)]).exact(s, check)
    });
}

/// Adds a case of masters halfway between two parameters, for a `rule` that subtracts the gradient itself. A parameter of `f32` is its own master.
pub(super) fn halves<S: Backend>(cases: &mut Cases<S>, dtype: DType, rule: UpdateRule) {
    if dtype == DType::F32 {
        return;
    }
    let sentence = "a_master_halfway_between_two_parameters_becomes_the_even_one";
    cases.add(variant([dtype, DType::F32]), sentence, move |s: &S, check| {
        let (params, moves) = halfway(dtype);
        let grad = Stored::vector(DType::F32, moves.iter().map(|x| -1024.0 * x));
        let param = Stored::vector(dtype, params);
        Run::single(param, vec![(rule, grad)]).exact(s, check)
    });
}

/// Returns `rule` without the terms that change a parameter whose gradient is zero.
fn still(rule: UpdateRule) -> UpdateRule {
    at_rest(rule).with_lr(rule.lr())
}

/// Returns `tensor` with `bad` as its last element.
fn spoilt(tensor: &Stored, bad: f64) -> Stored {
    tensor.with(tensor.len().wrapping_sub(1), bad)
}

fn skips<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2], rule: UpdateRule) {
    let [param, first, second] = calm(dtypes, 33, 23);
    let bad = spoilt(&first, f64::INFINITY);
    let rest = at_rest(rule);
    let mut add = |sentence: &str, run: Run| {
        cases.add(variant(dtypes), sentence, move |s: &S, check| run.near(s, check));
    };
    let single = |moves: &[(UpdateRule, &Stored)]| {
        let moves = moves.iter().map(|(rule, grad)| (*rule, (*grad).clone())).collect();
        Run::single(param.clone(), moves)
    };
    add("a_skipped_step_is_not_counted", single(&[(rule, &bad), (rule, &second)]));
    add("a_skipped_step_moves_no_moment", single(&[(rest, &first), (rule, &bad), (rule, &second)]));

    let mut add = |sentence: &str, run: Run| {
        cases.add(variant(dtypes), sentence, move |s: &S, check| run.exact(s, check));
    };
    for (sentence, value) in [
        ("an_infinity_leaves_every_bit_alone", f64::INFINITY),
        ("a_nan_leaves_every_bit_alone", f64::NAN),
    ] {
        let grads = vec![("a", Some(first.clone())), ("b", Some(spoilt(&second, value)))];
        let params = vec![("a", param.clone()), ("b", param.clone())];
        add(sentence, Run::new(params, vec![Move::new(rule, grads, 10)]));
    }
    let zero = Stored::vector(dtypes[1], vec![0.0; 33]);
    let overflow = spoilt(&zero, f64::INFINITY);
    add("a_skipped_step_does_not_decay_weights", single(&[(rule, &overflow)]));

    let mut halted = single(&[(rule, &first)]);
    halted.moves[0].scale = ScaleState { diverged: true, ..halted.moves[0].scale };
    add("a_diverged_scale_leaves_every_bit_alone", halted);
    if dtypes[1] != DType::F16 {
        let mut small = single(&[(rule, &spoilt(&first, 3e38))]);
        small.moves[0].scale = ScaleState::from_exponent(-2);
        add("an_overflow_only_once_unscaled_leaves_every_bit_alone", small);
    }
}
