//! Unscaling: gradients are divided by the scale in `f32`, and every element that is not finite is found, counted and located.

use super::cast::{round, rounded};
use super::prelude::*;
use super::training::narrow;
use crate::UnscaleResult;
use crate::stored::show;
use binade_core::Overflow;
use binade_grad_scaler::ScaleState;

/// Named gradients on the kit's side.
pub(super) type Set = Vec<(&'static str, Option<Stored>)>;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in FLOATS {
        scales(cases, dtype);
        lengths(cases, dtype);
        starts(cases, dtype);
        ranges(cases, dtype);
        classes(cases, dtype);
        sets(cases, dtype);
    }
    cases.add("mixed", "element_types_may_differ_within_a_set", |s: &S, check| {
        by(s, check, &mixed(), ScaleState::from_exponent(10))
    });
    cases.add("-", "an_empty_set_is_not_raised", |s: &S, check| {
        by(s, check, &vec![], ScaleState::from_exponent(16))
    });
}

/// Gradients on the subject's side.
pub(super) fn upload<S: Backend>(s: &S, set: &Set) -> Result<NamedGrads<Tensor<S>>, CaseError> {
    let one = |(name, grad): &(&'static str, Option<Stored>)| {
        Ok(Named::new(*name, grad.as_ref().map(|grad| put(s, grad)).transpose()?))
    };
    set.iter().map(one).collect()
}

/// Gradients as views of this layout.
pub(super) fn views(set: Set, layout: Layout) -> Set {
    set.into_iter().map(|(name, grad)| (name, grad.map(|grad| grad.view(layout)))).collect()
}

/// The scale as a number.
pub(super) fn factor(state: &ScaleState) -> f64 {
    f64::from(state.significand) * 2.0_f64.powi(state.exponent)
}

/// Unscales `set`, and compares the found-inf result and every gradient.
fn by<S: Backend>(s: &S, check: &mut Check, set: &Set, state: ScaleState) -> Verdict {
    let got = s.unscale(upload(s, set)?, state)?;
    same(s, check, set, state, &got)
}

/// Compares the found-inf result of a pass over `set`, and every gradient bit by bit.
pub(super) fn same<S: Backend>(
    s: &S,
    check: &mut Check,
    set: &Set,
    state: ScaleState,
    got: &UnscaleResult<Tensor<S>>,
) -> Verdict {
    let (wanted, found) = unscale(set, state);
    check.equal(set, told(&got.found), told(&found))?;
    same_grads(s, check, (set, &got.grads), &wanted, Some(Agreement::Bits))
}

/// Compares names, and each gradient by this agreement, or by the group's; `set` has a gradient of each shape.
pub(super) fn same_grads<S: Backend>(
    s: &S,
    check: &mut Check,
    (set, got): (&Set, &NamedGrads<Tensor<S>>),
    wanted: &[Option<Vec<f64>>],
    agreement: Option<Agreement>,
) -> Verdict {
    same_names::<S>(check, (set, got), wanted)?;
    for (((_, input), grad), wanted) in set.iter().zip(got).zip(wanted) {
        if let (Some(input), Some(grad), Some(wanted)) = (input, &grad.value, wanted) {
            let got = get(s, grad, DType::F32, &input.shape)?;
            check.values(&[input], &got, wanted, agreement)?;
        }
    }
    Ok(())
}

/// Compares names: the same gradients in the same order, with the same ones missing.
pub(super) fn same_names<S: Backend>(
    check: &mut Check,
    (set, got): (&Set, &NamedGrads<Tensor<S>>),
    wanted: &[Option<Vec<f64>>],
) -> Verdict {
    let names: Vec<_> = got.iter().map(|grad| (&*grad.name, grad.value.is_some())).collect();
    let pairs = set.iter().zip(wanted);
    let listed: Vec<_> = pairs.map(|((name, _), wanted)| (*name, wanted.is_some())).collect();
    check.equal(set, format!("{names:?}"), format!("{listed:?}"))
}

/// Returns a found-inf result as text, with its numbers as bits and all NaNs alike, without norm and rank.
pub(super) fn told(found: &FoundInf) -> String {
    let FoundInf { overflow, infinities, nans, magnitude, halted, missing, .. } = found;
    let first = overflow.as_ref().map_or("nothing".to_owned(), |first| {
        let Overflow { parameter, index, scaled, unscaled, rank: _ } = first;
        format!("{parameter}[{index}] = {}, unscaled {}", bits(*scaled), bits(*unscaled))
    });
    let magnitude = bits(*magnitude);
    format!(
        "first {first}; {infinities} infinite, {nans} NaN; magnitude {magnitude}; missing {missing:?}; halted {halted}"
    )
}

fn bits(x: f32) -> String {
    if x.is_nan() { "NaN".to_owned() } else { show(x.to_bits().into(), DType::F32) }
}

/// Returns a set with one gradient, `w`.
pub(super) fn one(grad: Stored) -> Set {
    vec![("w", Some(grad))]
}

/// Parses a set such as `a: 1 -inf nan; b; c: 2`, in which `b` has no gradient, with each value times `scale`.
pub(super) fn set(dtype: DType, scale: f64, words: &'static str) -> Set {
    let values = |list: &str| -> Vec<f64> {
        list.split_whitespace()
            .filter_map(|word| word.parse().ok())
            .map(|x: f64| x * scale)
            .collect()
    };
    let one = |words: &'static str| match words.split_once(':') {
        Some((name, list)) => (name, Some(Stored::vector(dtype, values(list)))),
        None => (words, None),
    };
    words.split("; ").map(one).collect()
}

fn coded(dtype: DType, codes: Vec<u64>) -> Set {
    one(Stored::code_vector(dtype, codes))
}

/// Returns a set with every element type.
pub(super) fn mixed() -> Set {
    let grad = |dtype| Some(Stored::vector(dtype, finite(3, 33, dtype, [-8.0, 8.0])));
    ["a", "b", "c"].into_iter().zip(FLOATS.map(grad)).collect()
}

fn scales<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    for exponent in [-20, -10, -1, 0, 1, 8, 15, 16, 17, 24] {
        let sentence = format!("divides_exactly_by_2^{exponent}");
        cases.add(dtype, sentence, move |s: &S, check| {
            let more = finite(7, 257, dtype, [-14.0, 15.0]).into_iter().map(|x| round(x, dtype));
            let codes = edges(dtype).into_iter().chain(more).collect();
            by(s, check, &coded(dtype, codes), ScaleState::from_exponent(exponent))
        });
    }
    cases.add(dtype, "divides_by_an_imported_scale_within_two_ulps", move |s: &S, check| {
        let grad = Stored::vector(dtype, finite(8, 257, dtype, [-4.0, 4.0]));
        for scale in [3.0_f32, 1000.0, 0.7] {
            let Some(state) = ScaleState::import(scale) else { continue };
            let wanted = grad.values().map(|x| x / f64::from(scale)).collect();
            let set = one(grad.clone());
            let out = s.unscale(upload(s, &set)?, state)?.grads;
            same_grads(s, check, (&set, &out), &[Some(wanted)], Some(Agreement::Ulps(2)))?;
        }
        Ok(())
    });
}

fn lengths<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let state = ScaleState::from_exponent(12);
    for length in LENGTHS.into_iter().chain(LONG) {
        let grad = move || -> Vec<u64> {
            finite(length, length, dtype, [-10.0, 10.0]).iter().map(|&x| round(x, dtype)).collect()
        };
        cases.add(dtype, format!("all_of_{length}_elements"), move |s: &S, check| {
            by(s, check, &coded(dtype, grad()), state)
        });
        // Long tensors are tried in the last place only.
        let tried = if length < LONG[0] { 3 } else { 1 };
        for (place, index) in places(length).into_iter().take(tried) {
            for (kind, bad) in [("a_nan", nans(dtype)), ("an_infinity", infinities(dtype))] {
                let sentence = format!("{kind}_in_the_{place}_of_{length}_is_found");
                // Short tensors get each code of the kind, others one.
                let bad = if length < 255 { bad } else { vec![bad[0]] };
                cases.add(dtype, sentence, move |s: &S, check| {
                    let mut codes = grad();
                    bad.iter().try_for_each(|code| {
                        codes[index] = *code;
                        by(s, check, &coded(dtype, codes.clone()), state)
                    })
                });
            }
        }
    }
}

/// Adds cases of unaligned and strided gradients with a bad element, in the last place or in one whose position in memory differs.
fn starts<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.views(dtype, move |s: &S, check, layout, length| {
        let last = length - 1;
        for (place, value) in [(0, 2.0), (last, 16384.0), (last, f64::NAN), (length / 3, f64::NAN)]
        {
            let mut values = finite(length, length, dtype, [-10.0, 10.0]);
            values[place] = value;
            let set = one(Stored::vector(dtype, values).view(layout));
            by(s, check, &set, ScaleState::from_exponent(12))?;
        }
        Ok(())
    });
}

/// Adds cases of gradients that leave the range of a format during the pass.
fn ranges<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &str, values: Vec<f64>, exponent: i32| {
        cases.add(dtype, sentence, move |s: &S, check| {
            let set = one(Stored::vector(dtype, values.clone()));
            by(s, check, &set, ScaleState::from_exponent(exponent))
        });
    };
    // 2^-24 / 2^24 is far below the numbers of f16.
    let smallest = 2.0_f64.powi(-24);
    add("what_scaling_rescued_is_not_lost_again", vec![smallest, -smallest, 1e-4, 1.0], 24);
    let (large, exponent) = if dtype == DType::F16 { (6e4, -113) } else { (3e38, -2) };
    add("infinite_only_once_unscaled_is_an_overflow", vec![1.0, large, -large], exponent);
    if dtype != DType::F16 {
        let small = vec![1e-35, -3e-36, 2e-38, 1.2e-38];
        add("results_below_the_smallest_normal_round_once", small, 20);
    }
}

/// Adds cases of each class of values that are not finite, alone and among other awkward values.
fn classes<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "every_nan_is_counted_as_one_quiet_or_signalling_of_either_sign";
    cases.add(dtype, sentence, move |s: &S, check| {
        not_finite(dtype).into_iter().try_for_each(|code| {
            by(s, check, &coded(dtype, vec![code]), ScaleState::from_exponent(12))
        })
    });
    cases.add(dtype, "all_that_is_awkward_at_once", move |s: &S, check| {
        [-12, 0, 12].into_iter().try_for_each(|exponent| {
            by(s, check, &coded(dtype, awkward(dtype)), ScaleState::from_exponent(exponent))
        })
    });
}

/// Adds cases of several parameters, missing gradients, and the reported names.
fn sets<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &'static str, diverged: bool, set: Set| {
        let state = ScaleState { diverged, ..ScaleState::from_exponent(3) };
        cases.add(dtype, sentence, move |s: &S, check| by(s, check, &set, state));
    };
    let of = |words| set(dtype, 1.0, words);
    let mut late = of("a: 1 2; b; c: inf nan");
    late[1].1 = Some(Stored::vector(dtype, vec![1.0; 5000]).with(4999, f64::NAN));
    add("the_first_offender_is_of_the_lowest_parameter", false, late);
    add("the_first_offender_has_the_lowest_index", false, of("w: 1 -inf nan inf nan"));
    add("infinities_and_nans_are_counted_apart", false, of("a: inf nan -inf 4; b: nan nan 1"));
    let magnitude = "magnitude_is_the_largest_finite_scaled_gradient";
    add(magnitude, false, of("a: -1024 inf 3; b: nan 512"));
    add("missing_gradients_are_listed_in_order", false, of("a; b: 1; c; d: 2"));
    add("a_diverged_scale_halts_finite_gradients", true, of("w: 1 2"));
}

// The oracle.

/// One gradient, divided by `scale` and rounded once to `f32`.
pub(super) fn element(scaled: f64, scale: f64) -> f64 {
    rounded(scaled / scale, DType::F32)
}

/// Returns gradients divided by their scale, and the found-inf result of that pass.
pub(super) fn unscale(set: &Set, state: ScaleState) -> (Vec<Option<Vec<f64>>>, FoundInf) {
    let mut found = FoundInf { halted: state.diverged, ..FoundInf::default() };
    let mut values = Vec::new();
    for (name, grad) in set {
        if grad.is_none() {
            found.missing.push((*name).into());
        }
        values.push(grad.as_ref().map(|grad| {
            let pairs = grad.values().map(|scaled| (scaled, element(scaled, factor(&state))));
            pairs.zip(0..).map(|(pair, index)| look(&mut found, (name, index), pair)).collect()
        }));
    }
    (values, found)
}

fn look(found: &mut FoundInf, (name, index): (&str, u64), (scaled, unscaled): (f64, f64)) -> f64 {
    if scaled.is_finite() && narrow(scaled.abs()) > found.magnitude {
        found.magnitude = narrow(scaled.abs());
    }
    if scaled.is_nan() || unscaled.is_nan() {
        found.nans += 1;
    } else if scaled.is_infinite() || unscaled.is_infinite() {
        found.infinities += 1;
    } else {
        return unscaled;
    }
    found.overflow.get_or_insert_with(|| offender(name, index, [scaled, unscaled]));
    unscaled
}

/// Returns the overflow of an element that is not finite after unscaling, and may have been finite before.
pub(super) fn offender(name: &str, index: u64, values: [f64; 2]) -> Overflow {
    let [scaled, unscaled] = values.map(narrow);
    Overflow { parameter: name.into(), index, rank: None, scaled, unscaled }
}
