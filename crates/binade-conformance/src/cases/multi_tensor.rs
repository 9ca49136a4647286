//! Sets of tensors: scaled, added with weights, measured, cast and assigned, each by one call.
//!
//! The oracle computes each element in `f64` if it is rounded once, and in `f32` if the contract has more roundings.

use super::cast::{lanes, round, rounded};
use super::norm::norm;
use super::prelude::*;
use super::training::narrow;
use super::unscale::{mixed, told};
use crate::{Layout, SetCall, SetResult};
use binade_core::{Norm, Overflow};

/// Named tensors on the kit's side.
type Set = Vec<(&'static str, Stored)>;

const NORMS: [Norm; 2] = [Norm::L2, Norm::Infinity];

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in FLOATS {
        results(cases, dtype);
        findings(cases, dtype);
        norms(cases, dtype);
        refusals(cases, dtype);
        assigned(cases, dtype);
    }
    casts(cases);
    cases.add("mixed", "element_types_may_differ_within_a_set", |s: &S, check| {
        let set: Set = mixed().into_iter().filter_map(|(name, grad)| Some((name, grad?))).collect();
        sums(s, check, [&set, &set], [0.3, -1.7])?;
        NORMS.into_iter().try_for_each(|which| measures(s, check, &set, which))
    });
    cases.add("-", "an_empty_set_is_finite_and_has_norms_of_zero", |s: &S, check| {
        sums(s, check, [&vec![], &vec![]], [2.0, 3.0])?;
        NORMS.into_iter().try_for_each(|which| measures(s, check, &vec![], which))
    });
}

type Placed<S> = Vec<Named<Tensor<S>>>;

fn upload<S: Backend>(s: &S, set: &Set) -> Result<Placed<S>, CaseError> {
    set.iter().map(|(name, tensor)| Ok(Named::new(*name, put(s, tensor)?))).collect()
}

/// Makes a call with new tensors, and checks that a call that writes to no operand keeps their bits.
fn call<S: Backend>(
    s: &S,
    check: &mut Check,
    call: &SetCall,
    [x, y]: [&Set; 2],
) -> Result<SetResult<Tensor<S>>, CaseError> {
    let (placed_x, placed_y) = (upload(s, x)?, upload(s, y)?);
    let result = s.multi_tensor(call, &placed_x, &placed_y)?;
    for (set, placed) in [(x, placed_x), (y, placed_y)] {
        for ((_, tensor), placed) in set.iter().zip(placed) {
            let now = get(s, &placed.value, tensor.dtype, &tensor.shape)?;
            check.same_codes(
                &"an operand",
                &now,
                &Stored { layout: now.layout, ..tensor.clone() },
            )?;
        }
    }
    Ok(result)
}

/// Compares names and every element, bit by bit, any NaN for any NaN.
fn same<S: Backend>(
    s: &S,
    check: &mut Check,
    set: &Set,
    got: &[Named<Tensor<S>>],
    wanted: &[Vec<f64>],
) -> Verdict {
    let names: Vec<&str> = got.iter().map(|tensor| &*tensor.name).collect();
    let listed: Vec<&str> = set.iter().map(|(name, _)| *name).collect();
    check.equal(set, format!("{names:?}"), format!("{listed:?}"))?;
    for (((_, input), tensor), wanted) in set.iter().zip(got).zip(wanted) {
        let got = get(s, &tensor.value, DType::F32, &input.shape)?;
        check.exact(&[input], &got, wanted)?;
    }
    Ok(())
}

/// Compares a found-inf result.
fn finds(check: &mut Check, set: &Set, got: Option<&FoundInf>, wanted: &FoundInf) -> Verdict {
    check.equal(set, got.map_or("no finding".to_owned(), told), told(wanted))
}

/// Scales the first set, adds both, and compares the results and their found-inf results.
fn sums<S: Backend>(s: &S, check: &mut Check, sets: [&Set; 2], [a, b]: [f32; 2]) -> Verdict {
    let [x, y] = sets;
    let (wanted, found) = scaled(x, a);
    let got = call(s, check, &SetCall::Scale(a), [x, &vec![]])?;
    finds(check, x, got.found.as_ref(), &found)?;
    same(s, check, x, &got.tensors, &wanted)?;
    let (wanted, found) = added(sets, [a, b]);
    let got = call(s, check, &SetCall::Axpby(a, b), sets)?;
    finds(check, x, got.found.as_ref(), &found)?;
    same(s, check, x, &got.tensors, &wanted)?;
    check.equal(y, got.tensors.len().to_string(), y.len().to_string())
}

/// Compares the norm of all and of each tensor.
fn measures<S: Backend>(s: &S, check: &mut Check, set: &Set, which: Norm) -> Verdict {
    let got = call(s, check, &SetCall::Norms(which), [set, &vec![]])?.tensors;
    let values = |(_, tensor): &(&str, Stored)| Some(tensor.values().collect::<Vec<_>>());
    let all: Vec<_> = set.iter().map(values).collect();
    let each = all.iter().map(|values| norm(which, std::slice::from_ref(values)));
    let wanted: Vec<f64> = [norm(which, &all)].into_iter().chain(each).collect();
    check.equal(set, got.len().to_string(), wanted.len().to_string())?;
    for (place, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        let inputs: Vec<&Stored> = match place.checked_sub(1) {
            Some(place) => vec![&set[place].1],
            None => set.iter().map(|(_, tensor)| tensor).collect(),
        };
        let got = get(s, &got.value, DType::F32, &[])?;
        let agreement = if which == Norm::L2 { Agreement::Ulps(1) } else { Agreement::Bits };
        check.values(&inputs, &got, &[wanted], Some(agreement))?;
    }
    Ok(())
}

fn vectors(dtype: DType, seed: usize, lengths: [usize; 3]) -> Set {
    let tensor = |place: usize| {
        Stored::vector(dtype, finite(seed + place, lengths[place], dtype, [-6.0, 6.0]))
    };
    ["a", "b", "c"].into_iter().zip((0..3).map(tensor)).collect()
}

fn one(dtype: DType, values: impl IntoIterator<Item = f64>) -> Set {
    vec![("w", Stored::vector(dtype, values))]
}

fn results<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.lengths(dtype, SHORT.into_iter().chain([4097, LONG[1]]), move |s: &S, check, length| {
        let sets = [vectors(dtype, 1, [length, 3, length]), vectors(dtype, 5, [length, 3, length])];
        sums(s, check, [&sets[0], &sets[1]], [0.3, -1.7])
    });
    cases.views(dtype, move |s: &S, check, layout, length| {
        let of = |seed| {
            let values = finite(seed, length, dtype, [-6.0, 6.0]);
            vec![("w", Stored::vector(dtype, values).view(layout))]
        };
        sums(s, check, [&of(1), &of(2)], [0.3, -1.7])?;
        NORMS.into_iter().try_for_each(|which| measures(s, check, &of(3), which))
    });
    cases.add(dtype, "products_and_their_sum_are_rounded_each", move |s: &S, check| {
        // Fused, the sum would not be 0.
        let (x, y) = (one(dtype, [0.3, 1.1, -2.7]), one(dtype, [0.3, 1.1, -2.7]));
        sums(s, check, [&x, &y], [0.1, -0.1])?;
        sums(s, check, [&x, &one(dtype, [-0.9, 3.3, 0.1])], [1.0 / 3.0, 1.0 / 7.0])
    });
    cases.add(dtype, "subnormal_results_keep_their_bits", move |s: &S, check| {
        let small = [1.0, -3.0, 0.0, -0.0, 5.0];
        sums(s, check, [&one(dtype, small), &one(dtype, small)], [2.0_f32.powi(-149), 1e-44])
    });
}

fn findings<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    cases.add(
        dtype,
        "the_first_that_is_not_finite_is_named_and_all_are_counted",
        move |s: &S, check| {
            let mut x = vectors(dtype, 9, [5000, 7, 300]);
            let y = vectors(dtype, 11, [5000, 7, 300]);
            x[0].1 = x[0].1.with(4999, inf);
            x[2].1 = x[2].1.with(0, nan).with(299, -inf);
            sums(s, check, [&x, &y], [0.5, 2.0])
        },
    );
    cases.add(dtype, "what_is_not_finite_is_found_in_every_lane", move |s: &S, check| {
        let values = Stored::vector(dtype, finite(1, 2049, dtype, [-6.0, 6.0]));
        (0..4).flat_map(|lane| [lane, lane + 4, lane + 1024]).try_for_each(|index| {
            [inf, nan].into_iter().try_for_each(|value| {
                let x = vec![("w", values.with(index, value))];
                sums(s, check, [&x, &x], [0.5, 2.0])
            })
        })
    });
    cases.add(dtype, "the_first_of_many_tensors_is_named", move |s: &S, check| {
        // One thread may have to join the found-inf results of both.
        let bad = |place| match place {
            5 => [1.0, 2.0, inf],
            261 => [nan, 2.0, 3.0],
            _ => [1.0, 2.0, 3.0],
        };
        let x = (0..600).map(|place| ("w", Stored::vector(dtype, bad(place)))).collect();
        sums(s, check, [&x, &x], [0.5, 2.0])
    });
    cases.add(dtype, "either_operand_is_looked_at", move |s: &S, check| {
        let (x, y) = (one(dtype, [1.0, 2.0, inf, 4.0]), one(dtype, [1.0, nan, -inf, 4.0]));
        sums(s, check, [&x, &y], [1.0, 1.0])?;
        // A factor of 0 does not hide them.
        sums(s, check, [&x, &y], [0.0, 0.0])
    });
    cases.add(
        dtype,
        "results_beyond_f32_are_found_though_operands_are_finite",
        move |s: &S, check| {
            let (x, y) = (one(dtype, [1.0, 2.0, -4.0]), one(dtype, [1.0, 2.0, -4.0]));
            sums(s, check, [&x, &y], [2.0_f32.powi(127), 1.0])?;
            sums(s, check, [&x, &y], [2.0_f32.powi(126), 2.0_f32.powi(126)])
        },
    );
    cases.add(dtype, "nothing_behind_the_last_element_counts", move |s: &S, check| {
        let x = one(dtype, [1.0, 2.0, -4.0]);
        sums(s, check, [&x, &x], [f32::INFINITY, 1.0])
    });
}

fn norms<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let both = |s: &S, check: &mut Check, set: &Set| {
        NORMS.into_iter().try_for_each(|which| measures(s, check, set, which))
    };
    cases.add(dtype, "norms_are_of_all_and_of_each", move |s: &S, check| {
        for lengths in [[5, 0, 300], [0, 0, 1], [LONG[1] * 3, 17, LONG[0]]] {
            both(s, check, &vectors(dtype, 3, lengths))?;
        }
        Ok(())
    });
    cases.add(dtype, "norms_of_many_tensors", move |s: &S, check| {
        let tensor =
            |seed| ("w", Stored::vector(dtype, finite(seed, seed % 5, dtype, [-4.0, 4.0])));
        both(s, check, &(0..300).map(tensor).collect())
    });
    cases.add(dtype, "squares_beyond_f32_are_summed", move |s: &S, check| {
        let scale = if dtype == DType::F16 { 1e4 } else { 2.0_f64.powi(83) };
        let values =
            |seed| finite(seed, 257, dtype, [-1.0, 1.0]).into_iter().map(move |x| x * scale);
        both(
            s,
            check,
            &vec![("a", Stored::vector(dtype, values(1))), ("b", Stored::vector(dtype, values(2)))],
        )
    });
    cases.add(dtype, "a_nan_shows_in_its_own_norm_and_in_that_of_all", move |s: &S, check| {
        let mut set = vectors(dtype, 3, [300, 9, 300]);
        set[2].1 = set[2].1.with(299, f64::NAN).with(7, f64::INFINITY);
        both(s, check, &set)?;
        set[2].1 = set[2].1.with(299, 1.0);
        both(s, check, &set)
    });
}

fn casts<S: Backend>(cases: &mut Cases<S>) {
    for from in FLOATS {
        cases.add(from, "each_is_cast_to_a_type_of_its_own", move |s: &S, check| {
            let tensor = |length| {
                let values = finite(length, length, from, [-20.0, 20.0]);
                Stored::vector(from, values.into_iter().chain([f64::INFINITY, 7e4, -0.0]))
            };
            let set: Set = vec![("a", tensor(5000)), ("b", tensor(3)), ("c", tensor(0))];
            let got = call(s, check, &SetCall::Cast(FLOATS.to_vec()), [&set, &vec![]])?.tensors;
            check.equal(&set, got.len().to_string(), "3".to_owned())?;
            for (((_, from), got), to) in set.iter().zip(&got).zip(FLOATS) {
                let got = get(s, &got.value, to, &from.shape)?;
                let codes = from.values().map(|x| round(x, to));
                check.same_codes(from, &got, &Stored::code_vector(to, codes))?;
            }
            Ok(())
        });
    }
    for from in lanes::all() {
        cases.add(from, "many_are_cast_each_by_itself", move |s: &S, check| {
            lanes::all().try_for_each(|to| together(s, check, [from, to]))
        });
    }
    cases.add("-", "as_many_types_as_tensors_are_asked_for", |s: &S, check| {
        let set = one(DType::F32, [1.0]);
        let got = call(s, check, &SetCall::Cast(vec![]), [&set, &vec![]]);
        check.rejected(&set, got, ErrorKind::Mismatch)
    });
}

/// Casts tensors of different lengths and starts, one of them without elements.
fn together<S: Backend>(s: &S, check: &mut Check, [from, to]: [DType; 2]) -> Verdict {
    let whole = lanes::fitting(from, to);
    let set: Set =
        [("a", 0, 1), ("b", 0, 0), ("c", 0, whole.len()), ("d", 1, whole.len()), ("e", 3, 33)]
            .map(|(name, offset, length)| {
                let part = Stored::code_vector(from, whole.codes().take(length));
                (name, part.view(Layout::Offset(offset)))
            })
            .into();
    let got = call(s, check, &SetCall::Cast(vec![to; set.len()]), [&set, &vec![]])?.tensors;
    check.equal(&set, got.len().to_string(), set.len().to_string())?;
    set.iter().zip(&got).try_for_each(|((_, input), got)| {
        let values: Vec<f64> = input.values().collect();
        check.exact(&[input], &get(s, &got.value, to, &input.shape)?, &values)
    })
}

fn assigned<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    for (sentence, is_raised) in [
        ("all_elements_are_assigned", false),
        ("nothing_is_assigned_where_the_finding_is_raised", true),
    ] {
        cases.add(dtype, sentence, move |s: &S, check| {
            for lengths in [[0, 1, 9], [4097, 3, 257]] {
                let to = vectors(DType::F32, 1, lengths);
                let mut from = vectors(dtype, 4, lengths);
                from[1].1 = from[1].1.with(0, f64::NAN);
                let got = call(s, check, &SetCall::Assign { is_raised }, [&to, &from])?;
                let wanted = if is_raised { &to } else { &from };
                let values: Vec<Vec<f64>> =
                    wanted.iter().map(|(_, tensor)| tensor.values().collect()).collect();
                same(s, check, &to, &got.tensors, &values)?;
            }
            Ok(())
        });
    }
}

fn refusals<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.add(dtype, "two_sets_that_differ_are_a_mismatch", move |s: &S, check| {
        let set = vectors(dtype, 1, [3, 3, 3]);
        let mut swapped = set.clone();
        swapped.swap(0, 1);
        for other in [swapped, set[..2].to_vec(), vectors(dtype, 1, [3, 4, 3])] {
            for asked in [SetCall::Axpby(1.0, 1.0), SetCall::Assign { is_raised: false }] {
                let x = if matches!(asked, SetCall::Axpby(..)) {
                    set.clone()
                } else {
                    vectors(DType::F32, 1, [3, 3, 3])
                };
                let got = call(s, check, &asked, [&x, &other]);
                check.rejected((&x, &other), got, ErrorKind::Mismatch)?;
            }
        }
        Ok(())
    });
}

// The oracle.

/// Returns each element times `a`, rounded once, and the found-inf result.
fn scaled(x: &Set, a: f32) -> (Vec<Vec<f64>>, FoundInf) {
    of(x, |_, _, x| rounded(f64::from(a) * x, DType::F32))
}

/// Returns `a * x + b * y`, with each product and the sum rounded, and the found-inf result.
fn added([x, y]: [&Set; 2], [a, b]: [f32; 2]) -> (Vec<Vec<f64>>, FoundInf) {
    let terms: Vec<Vec<f64>> = y.iter().map(|(_, tensor)| tensor.values().collect()).collect();
    of(x, |place, index, x| {
        let products = [f64::from(a) * x, f64::from(b) * terms[place][index]];
        let [first, second] = products.map(|product| rounded(product, DType::F32));
        rounded(first + second, DType::F32)
    })
}

fn of(x: &Set, result: impl Fn(usize, usize, f64) -> f64) -> (Vec<Vec<f64>>, FoundInf) {
    let mut found = FoundInf::default();
    let mut values = Vec::new();
    for (place, (name, tensor)) in x.iter().enumerate() {
        let all = tensor.values().enumerate().map(|(index, x)| result(place, index, x));
        let all: Vec<f64> = all.collect();
        for (index, value) in (0..).zip(&all) {
            look(&mut found, name, index, *value);
        }
        values.push(all);
    }
    (values, found)
}

fn look(found: &mut FoundInf, name: &str, index: u64, value: f64) {
    let result = narrow(value);
    if value.is_finite() {
        found.magnitude = found.magnitude.max(result.abs());
        return;
    }
    found.nans += u64::from(value.is_nan());
    found.infinities += u64::from(value.is_infinite());
    let (parameter, rank) = (name.into(), None);
    let first = Overflow { parameter, index, rank, scaled: result, unscaled: result };
    found.overflow.get_or_insert(first);
}
