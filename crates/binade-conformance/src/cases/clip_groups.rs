//! Clipping by groups: each group by the norm of its own gradients; other gradients are unchanged.
//!
//! The oracle clips each group alone.

use super::cast::rounded;
use super::clip;
use super::norm::norm;
use super::prelude::*;
use super::unscale::{
    self, Set, offender, one, same_grads, same_names, told, unscale, upload, views,
};
use crate::Clip;
use binade_grad_scaler::{ClipGroup, Norm, ScaleState};

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in FLOATS {
        norms(cases, dtype);
        earlier(cases, dtype);
        lengths(cases, dtype);
        places(cases, dtype);
        units(cases, dtype);
        verdicts(cases, dtype);
        refusals(cases, dtype);
    }
    cases.add("mixed", "element_types_may_differ_within_a_group", |s, check| {
        let grad = |dtype, whole: [f64; 2]| Some(Stored::vector(dtype, whole.map(|x| x * 1024.0)));
        let set: Set = vec![
            ("a", grad(DType::BF16, [1.0, 2.0])),
            ("b", grad(DType::F16, [4.0, -6.0])),
            ("c", grad(DType::F32, [-2.0, 0.0])),
            ("d", grad(DType::F16, [-8.0, 1.0])),
        ];
        exactly(s, check, &set, &[l2(&["c", "a"], 0.7), largest(&["d", "b"], 5.0)])
    });
}

/// Scale, first clip and groups by which a set is clipped.
#[derive(Clone, Copy, Debug)]
struct How<'g> {
    state: ScaleState,
    first: Option<Clip>,
    groups: &'g [ClipGroup],
    /// True if every arithmetic computes these norms exactly, so that bits are compared.
    exact: bool,
}

impl<'g> How<'g> {
    fn by(groups: &'g [ClipGroup]) -> Self {
        Self { state: ScaleState::from_exponent(10), first: None, groups, exact: true }
    }
}

fn l2(names: &[&str], max: f32) -> ClipGroup {
    ClipGroup::new(names.iter().copied(), Norm::L2, max)
}

fn largest(names: &[&str], max: f32) -> ClipGroup {
    ClipGroup::new(names.iter().copied(), Norm::Infinity, max)
}

/// Returns gradients of these unscaled values, by name.
fn set(dtype: DType, words: &'static str) -> Set {
    unscale::set(dtype, 1024.0, words)
}

/// Returns a set with norms that are whole numbers, which no arithmetic rounds: 3 of `a`, 5 of `b`, 9 of `c`, and 17 of `d`.
fn whole(dtype: DType) -> Set {
    set(dtype, "a: 1 2 -2 0 -0; b: 3 -4; c: 2 4 5 -6; d: 8 -15 0")
}

fn exactly<S: Backend>(s: &S, check: &mut Check, set: &Set, groups: &[ClipGroup]) -> Verdict {
    of(s, check, set, How::by(groups))
}

/// Clips a set, and compares the found-inf result and, if that is not raised, every gradient.
fn of<S: Backend>(s: &S, check: &mut Check, set: &Set, how: How<'_>) -> Verdict {
    let (before, found) = unscale(set, how.state);
    let before = how.first.map_or(before.clone(), |first| clip::clip_grads(&before, first));
    let names: Vec<&str> = set.iter().map(|(name, _)| *name).collect();
    let (wanted, found) = clip_groups(&names, before, how.groups, found);
    let got = s.clip_groups(upload(s, set)?, how.state, how.first, how.groups)?;
    check.equal((set, how.groups), told(&got.found), told(&found))?;
    if found.is_raised() {
        return same_names::<S>(check, (set, &got.grads), &wanted);
    }
    let agreement = how.exact.then_some(Agreement::Bits);
    same_grads(s, check, (set, &got.grads), &wanted, agreement)
}

fn norms<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &str, groups: Vec<ClipGroup>| {
        cases.add(dtype, sentence, move |s: &S, check| exactly(s, check, &whole(dtype), &groups));
    };
    let each = ["a", "b", "c", "d"].map(|name| l2(&[name], 4.0));
    add("each_group_goes_by_its_own_norm", each.to_vec());
    let both = vec![largest(&["d"], 0.7), l2(&["c"], 0.1), largest(&["a"], 2.0)];
    add("each_group_has_a_norm_and_a_limit_of_its_own", both);
    add("a_group_within_its_limit_keeps_every_bit", vec![l2(&["b"], 5.0), l2(&["c"], 1.0)]);
    add("a_parameter_of_no_group_keeps_every_bit", vec![l2(&["b"], 1.0), largest(&["d"], 1.0)]);
    add("without_groups_every_bit_is_kept", Vec::new());
    add("a_group_of_nothing_changes_nothing", vec![l2(&[], 1.0), l2(&["d"], 2.0)]);
    let sentence = "parameters_of_a_group_share_one_factor_whatever_their_order";
    cases.add(dtype, sentence, move |s: &S, check| {
        let own = set(dtype, "a: 1; b: 7; c: -2; d: 2 0");
        exactly(s, check, &own, &[l2(&["d", "a", "c"], 0.7)])?;
        let set = set(dtype, "a: 1; f; b: 7; c: -2; d: 2 0; e:");
        exactly(s, check, &set, &[l2(&["b"], 0.1), l2(&["f", "d", "e", "a", "c"], 0.7)])
    });
    let sentence = "a_group_without_a_gradient_or_an_element_changes_nothing";
    cases.add(dtype, sentence, move |s: &S, check| {
        let set = set(dtype, "a: 3 4; b; c:");
        for names in [&["b"][..], &["c"], &["c", "b"]] {
            exactly(s, check, &set, &[l2(names, 1e-3), largest(&["a"], 2.0)])?;
            exactly(s, check, &set, &[l2(names, 1e-3)])?;
        }
        Ok(())
    });
}

/// Adds cases of a clip of all gradients first: groups are clipped by the norms of its results, and the found-inf result has the norm that the first
/// clip measured.
fn earlier<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "groups_go_by_what_earlier_clips_have_left";
    cases.add(dtype, sentence, move |s: &S, check| {
        let groups = [l2(&["b"], 1.0), l2(&["a"], 1.75)];
        // The norm of all is 10, and the first clip multiplies by a quarter: 1.5 is left of `a`, and 2 of `b`.
        let set = set(dtype, "a: 0 6; b: 8");
        for first in [Clip::Norm(Norm::L2, 2.5), Clip::Norm(Norm::Infinity, 2.0), Clip::Value(2.0)]
        {
            let how = How { first: Some(first), ..How::by(&groups) };
            of(s, check, &set, how)?;
        }
        Ok(())
    });
    let sentence = "the_norm_of_all_is_still_told_and_no_groups";
    cases.add(dtype, sentence, move |s: &S, check| {
        let set = set(dtype, "a: 0 6; b: 8");
        for (first, wanted) in [(Some(Clip::Norm(Norm::L2, 2.5)), Some(10.0)), (None, None)] {
            let groups = [l2(&["a"], 1.0)];
            let state = ScaleState::from_exponent(10);
            let got = s.clip_groups(upload(s, &set)?, state, first, &groups)?;
            check.equal((&set, first), format!("{:?}", got.found.norm), format!("{wanted:?}"))?;
        }
        Ok(())
    });
}

fn lengths<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let grad =
        move |seed, length| Some(Stored::vector(dtype, finite(seed, length, dtype, [6.0, 14.0])));
    cases.lengths(dtype, LENGTHS.into_iter().chain([LONG[2]]), move |s: &S, check, length| {
        let set = vec![("a", grad(length, length)), ("b", grad(3, 33)), ("c", grad(4, length))];
        exactly(s, check, &set, &[largest(&["c"], 0.7), largest(&["a", "b"], 0.3)])?;
        let groups = [l2(&["b"], 0.7), l2(&["a", "c"], 0.3)];
        of(s, check, &set, How { exact: false, ..How::by(&groups) })
    });
    cases.views(dtype, move |s: &S, check, layout, length| {
        let set = vec![("a", grad(length, length)), ("b", grad(length + 1, length))];
        let set = views(set, layout);
        exactly(s, check, &set, &[largest(&["b"], 0.7), largest(&["a"], 0.3)])?;
        let groups = [l2(&["b"], 0.7), l2(&["a"], 0.3)];
        of(s, check, &set, How { exact: false, ..How::by(&groups) })
    });
}

/// Adds cases of groups with the largest element in one of their parameters, and of elements so small that any number read past the last one changes
/// the result.
fn places<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "the_largest_element_is_found_in_whichever_parameter_it_is";
    cases.add(dtype, sentence, move |s: &S, check| {
        const NAMES: [&str; 9] = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        NAMES.into_iter().try_for_each(|place| {
            let values = |name| if name == place { [5120.0, -4096.0] } else { [1024.0, 2048.0] };
            let set = NAMES.map(|name| (name, Some(Stored::vector(dtype, values(name)))));
            exactly(s, check, &set.into(), &[largest(&NAMES, 3.0)])
        })
    });
    if dtype != DType::F32 || !cases.arithmetic().keeps_subnormals {
        return;
    }
    let sentence = "nothing_behind_the_last_element_counts";
    cases.add(dtype, sentence, move |s: &S, check| {
        let state = ScaleState::from_exponent(-113);
        for length in 1..10 {
            let mut values = vec![0.0; length];
            values[0] = 2.0_f64.powi(-149);
            let set = one(Stored::vector(dtype, values));
            let groups = [l2(&["w"], 2.0_f32.powi(-36))];
            of(s, check, &set, How { state, ..How::by(&groups) })?;
        }
        Ok(())
    });
}

/// Adds cases of limits, which apply to unscaled gradients, whatever the scale.
fn units<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "the_limit_is_of_unscaled_gradients_whatever_the_scale";
    cases.add(dtype, sentence, move |s: &S, check| {
        for exponent in [-3, 0, 3, 10] {
            let scaled = [3.0, -4.0].map(|x| x * 2.0_f64.powi(exponent));
            let set = one(Stored::vector(dtype, scaled));
            for max in [0.5, 5.0, 30.0] {
                let groups = [l2(&["w"], max)];
                let state = ScaleState::from_exponent(exponent);
                of(s, check, &set, How { state, ..How::by(&groups) })?;
            }
        }
        Ok(())
    });
    let sentence = "norms_are_summed_so_that_elements_of_1e25_do_not_overflow";
    if dtype != DType::F16 {
        cases.add(dtype, sentence, move |s: &S, check| {
            let large = 2.0_f64.powi(83);
            let set = vec![
                ("a", Some(Stored::vector(dtype, [3.0, -4.0].map(|x| x * large)))),
                ("b", Some(Stored::vector(dtype, [3.0 / large, 4.0 / large]))),
            ];
            let groups = [l2(&["a"], 2.5), l2(&["b"], 2.5 * 2.0_f32.powi(-83))];
            let state = ScaleState::from_exponent(0);
            of(s, check, &set, How { state, ..How::by(&groups) })
        });
    }
}

/// Adds cases of elements that are not finite, and of norms that are not.
fn verdicts<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "a_groups_norm_beyond_f32_raises_the_verdict_by_the_first_such_groups_name";
    cases.add(dtype, sentence, move |s: &S, check| {
        // Sixteen times the largest power of two that f32 holds, in magnitudes that each format has.
        let words = "a: 32768; b: 32768 32768 32768 32768; c: 32768 32768 32768 32768";
        let set = unscale::set(dtype, 1.0, words);
        let state = ScaleState::from_exponent(-112);
        for groups in [
            [l2(&["a"], 1.0), l2(&["c"], 1.0), l2(&["b"], 1.0)],
            [l2(&["a"], 1.0), largest(&["c"], 1.0), l2(&["b"], 1.0)],
        ] {
            of(s, check, &set, How { state, ..How::by(&groups) })?;
        }
        Ok(())
    });
    let sentence = "what_was_raised_stays_as_it_was_told_in_whatever_group";
    cases.add(dtype, sentence, move |s: &S, check| {
        for words in
            ["a: 1 2; b: 1 nan; c: nan", "a: 1 2; b: 1 inf; c: inf", "a: 1 2; b: 1 -inf; c: -inf"]
        {
            let set = set(dtype, words);
            for names in [&["a"][..], &["b"], &["c", "b"]] {
                exactly(s, check, &set, &[l2(names, 1.0)])?;
                exactly(s, check, &set, &[largest(names, 1.0)])?;
            }
            exactly(s, check, &set, &[])?;
        }
        Ok(())
    });
}

fn refusals<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &str, kind: ErrorKind, wrong: Vec<Vec<ClipGroup>>| {
        cases.add(dtype, sentence, move |s: &S, check| {
            let set = whole(dtype);
            wrong.iter().try_for_each(|groups| {
                let state = ScaleState::from_exponent(10);
                let got = s.clip_groups(upload(s, &set)?, state, None, groups);
                check.rejected((&set, groups), got.map_err(CaseError::from), kind)
            })
        });
    };
    let limits = [0.0, -0.0, -1.0, f32::NEG_INFINITY, f32::NAN];
    add(
        "a_limit_that_is_no_positive_number_is_an_invalid_argument",
        ErrorKind::InvalidArgument,
        limits.map(|max| vec![l2(&["a"], 1.0), l2(&["b"], max)]).to_vec(),
    );
    add(
        "a_parameter_that_is_named_twice_is_a_mismatch",
        ErrorKind::Mismatch,
        vec![vec![l2(&["a"], 1.0), l2(&["b", "a"], 1.0)], vec![l2(&["c", "c"], 1.0)]],
    );
    add(
        "a_name_that_no_gradient_has_is_a_mismatch",
        ErrorKind::Mismatch,
        vec![vec![l2(&["a", "x"], 1.0)], vec![l2(&["b"], 1.0), l2(&[""], 1.0)]],
    );
}

// The oracle.

/// Returns unscaled gradients, clipped, and the unscale pass's found-inf result with the norms that are not finite.
fn clip_groups(
    names: &[&str],
    mut values: Vec<Option<Vec<f64>>>,
    groups: &[ClipGroup],
    mut found: FoundInf,
) -> (Vec<Option<Vec<f64>>>, FoundInf) {
    for group in groups {
        let of_group = |name: &str| group.parameters.iter().any(|parameter| parameter == name);
        let own: Vec<usize> = (0..names.len()).filter(|place| of_group(names[*place])).collect();
        let members: Vec<_> = own.iter().map(|place| values[*place].clone()).collect();
        let norm = norm(group.norm, &members);
        let factor = clip::norm_factor(norm, group.max);
        for place in own {
            let grad = values[place].iter_mut().flatten();
            grad.for_each(|x| *x = clip::by_norm(*x, factor));
        }
        let norm = rounded(norm, DType::F32);
        if let Some(first) = group.parameters.first().filter(|_| !norm.is_finite()) {
            let name = format!("norm of the group of `{first}`");
            found.overflow.get_or_insert_with(|| offender(&name, 0, [norm; 2]));
        }
    }
    (values, found)
}
