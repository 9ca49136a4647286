//! Accumulation: sums in `f32`, with each micro-batch unscaled by its own scale, and without bad micro-batches.
//!
//! The oracle adds the micro-batches of a window in `f32`, in their order, and leaves out every one that is not finite.

use super::cast::rounded;
use super::prelude::*;
use super::unscale::{Set, one, same_grads, unscale, upload, views};
use crate::MicroBatch;
use binade_grad_scaler::ScaleState;

/// Micro-batches on the kit's side.
pub(super) type Window = Vec<(Set, ScaleState)>;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in FLOATS {
        sums(cases, dtype);
        sizes(cases, dtype);
        lengths(cases, dtype);
        starts(cases, dtype);
        bad(cases, dtype);
        absent(cases, dtype);
        differ(cases, dtype);
    }
    let sentence = "element_types_may_differ_from_one_micro_batch_to_the_next";
    cases.add("mixed", sentence, |s: &S, check| {
        let micro = |dtype| at(10, one(good(1, 33, dtype)));
        by(s, check, &FLOATS.map(micro).to_vec())
    });
}

/// Micro-batches on the subject's side.
fn micros<S: Backend>(s: &S, window: &Window) -> Result<Vec<MicroBatch<Tensor<S>>>, CaseError> {
    let micro =
        |(set, scale): &(Set, ScaleState)| Ok(MicroBatch { grads: upload(s, set)?, scale: *scale });
    window.iter().map(micro).collect()
}

/// Accumulates, and compares the sums bit by bit and the parameters that have one.
fn by<S: Backend>(s: &S, check: &mut Check, window: &Window) -> Verdict {
    let sums = s.accumulate(micros(s, window)?)?;
    same_grads(s, check, (&like(window), &sums), &accumulate(window), Some(Agreement::Bits))
}

/// Returns each parameter's first gradient in the window.
fn like(window: &Window) -> Set {
    let mut sets = window.iter().map(|(set, _)| set.clone());
    let mut first = sets.next().unwrap_or_default();
    for set in sets {
        let pairs = first.iter_mut().zip(set);
        pairs.for_each(|((_, first), (_, grad))| *first = first.take().or(grad));
    }
    first
}

fn at(exponent: i32, set: Set) -> (Set, ScaleState) {
    (set, ScaleState::from_exponent(exponent))
}

fn good(seed: usize, length: usize, dtype: DType) -> Stored {
    Stored::vector(dtype, finite(seed, length, dtype, [-8.0, 8.0]))
}

/// Returns a gradient with `last` as the last element.
fn spoilt(length: usize, dtype: DType, last: f64) -> Stored {
    let mut values = finite(9, length, dtype, [-8.0, 8.0]);
    values[length - 1] = last;
    Stored::vector(dtype, values)
}

fn sums<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &str, window: Window| {
        cases.add(dtype, sentence, move |s: &S, check| by(s, check, &window));
    };
    let single = |exponent, seed| at(exponent, one(good(seed, 257, dtype)));
    add("one_micro_batch_is_its_own_sum", vec![single(10, 1)]);
    add("micro_batches_add_up_in_their_order", (1..9).map(|seed| single(10, seed)).collect());
    let own = [10, 3, -2, 12].into_iter().zip(1..).map(|(exponent, seed)| single(exponent, seed));
    add("each_micro_batch_is_divided_by_its_own_scale", own.collect());
    let step = |x: f64| at(0, one(Stored::vector(dtype, [x, -x])));
    let ones = std::iter::once(step(2048.0)).chain((0..300).map(|_| step(1.0)));
    add("ones_add_up_beyond_2048", ones.collect());
}

/// Adds a case of unscaled gradients from below the smallest number of the format to the largest.
fn sizes<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let micro = move |exponent, values| at(exponent, one(values));
    let spread = move |seed, range| Stored::vector(dtype, finite(seed, 1024, dtype, range));
    let edges = in_every_lane(edges(dtype));
    let turned = edges[8..].iter().chain(&edges[..8]).copied().collect();
    let edges = [edges, turned].map(|codes| Stored::code_vector(dtype, codes));
    let largest = if dtype == DType::F16 { 15.0 } else { 126.0 };
    let sentence = "numbers_of_every_size_add_up";
    cases.add(dtype, sentence, move |s: &S, check| {
        let small = [1, 2].map(|seed| micro(120, spread(seed, [-30.0, 2.0])));
        let large = [micro(-1, spread(3, [0.0, largest]))];
        by(s, check, &small.into())?;
        by(s, check, &large.into())?;
        [0, 1, 2].into_iter().try_for_each(|exponent| {
            by(s, check, &edges.clone().map(|edges| micro(exponent, edges)).into())
        })
    });
}

fn lengths<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.lengths(dtype, LENGTHS.into_iter().chain([LONG[2]]), move |s: &S, check, length| {
        let micro = |seed| at(10, one(good(seed, length, dtype)));
        by(s, check, &(1..4).map(micro).collect())
    });
}

/// Adds cases of unaligned and strided gradients, in micro-batches of the same and of different layouts.
fn starts<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.views(dtype, move |s: &S, check, layout, length| {
        let set = |seed| one(good(seed, length, dtype));
        let micro = |seed| at(10, views(set(seed), layout));
        let mut window = vec![micro(1), micro(2)];
        by(s, check, &window)?;
        for grad in window[0].0.iter_mut().filter_map(|(_, grad)| grad.as_mut()) {
            grad.layout = Layout::Offset(0);
        }
        by(s, check, &window)
    });
}

/// Adds cases of sets with different lists of parameters, which are refused rather than added in the wrong places.
fn differ<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let set =
        |name, length| vec![("a", Some(good(1, 9, dtype))), (name, Some(good(2, length, dtype)))];
    let windows = [
        ("sets_that_differ_in_a_name_are_a_mismatch", [set("b", 33), set("c", 33)]),
        ("sets_that_differ_in_a_length_are_a_mismatch", [set("b", 33), set("b", 32)]),
        (
            "sets_that_differ_in_their_number_are_a_mismatch",
            [set("b", 33), set("b", 33)[..1].to_vec()],
        ),
    ];
    for (sentence, sets) in windows {
        cases.add(dtype, sentence, move |s: &S, check| {
            let window: Window = sets.iter().map(|set| at(10, set.clone())).collect();
            let got = s.accumulate(micros(s, &window)?).map_err(CaseError::from);
            check.rejected(&window, got, ErrorKind::Mismatch)
        });
    }
}

/// Adds cases of two good micro-batches with bad ones at each position.
fn bad<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let pair = |a, b| at(10, vec![("a", Some(a)), ("b", Some(b))]);
    let good = |seed| pair(good(seed, 33, dtype), good(seed + 10, 257, dtype));
    let spoil = |last| pair(spoilt(33, dtype, 1.0), spoilt(257, dtype, last));
    let halted = {
        let (set, scale) = good(5);
        (set, ScaleState { diverged: true, ..scale })
    };
    let kinds = [
        ("an_infinity_keeps_its_whole_micro_batch_out", spoil(f64::INFINITY)),
        ("a_nan_keeps_its_whole_micro_batch_out", spoil(f64::NAN)),
        ("a_diverged_scale_keeps_its_micro_batch_out", halted),
    ];
    for (sentence, bad) in kinds {
        let orders: [Window; 5] = [
            vec![good(1), good(2), bad.clone()],
            vec![good(1), bad.clone(), good(2)],
            vec![bad.clone(), good(1), good(2)],
            vec![bad.clone(), bad.clone(), good(1), bad.clone(), good(2), bad.clone()],
            vec![bad.clone(), good(1)],
        ];
        cases.add(dtype, sentence, move |s: &S, check| {
            orders.iter().try_for_each(|window| by(s, check, window))
        });
    }
    let sentence = "every_nan_and_infinity_keeps_its_micro_batch_out";
    cases.add(dtype, sentence, move |s: &S, check| {
        not_finite(dtype).into_iter().try_for_each(|code| {
            let bad = Stored::from_codes(dtype, &[3], [1, 2, code]);
            let single = |grad| at(10, one(grad));
            by(s, check, &vec![single(self::good(1, 3, dtype)), single(bad)])
        })
    });
    if dtype != DType::F16 {
        let (mut set, _) = good(1);
        set[1].1 = Some(spoilt(257, dtype, 3e38));
        let overflow = at(-2, set);
        let window = vec![overflow.clone(), good(1), overflow, good(2)];
        let sentence = "an_overflow_only_once_unscaled_keeps_its_micro_batch_out";
        cases.add(dtype, sentence, move |s: &S, check| by(s, check, &window));
    }
}

/// Adds cases of gradients that some micro-batches lack. Zeros instead would decay weights and age moments.
fn absent<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &str, window: Window| {
        cases.add(dtype, sentence, move |s: &S, check| by(s, check, &window));
    };
    let pair = |a, b| at(10, vec![("a", a), ("b", b)]);
    let some = |seed| Some(good(seed, 33, dtype));
    let nan = || Some(spoilt(33, dtype, f64::NAN));
    add(
        "a_gradient_of_one_micro_batch_alone_is_its_own_sum",
        vec![pair(some(1), None), pair(None, some(2)), pair(None, None)],
    );
    add("what_no_micro_batch_has_the_sum_has_not", vec![pair(some(1), None), pair(some(2), None)]);
    add("a_window_of_bad_micro_batches_has_no_gradient", vec![pair(nan(), some(1)); 3]);
    add(
        "what_only_bad_micro_batches_have_the_sum_has_not",
        vec![pair(some(1), nan()), pair(some(2), None), pair(nan(), some(3))],
    );
}

// The oracle.

/// Returns each parameter's sum; `None` for one without a gradient in any good micro-batch.
pub(super) fn accumulate(window: &Window) -> Vec<Option<Vec<f64>>> {
    let mut sums: Vec<Option<Vec<f64>>> = vec![];
    for (set, scale) in window {
        sums.resize(set.len(), None);
        let (grads, found) = unscale(set, *scale);
        for (sum, grad) in sums.iter_mut().zip(grads).filter(|_| !found.is_raised()) {
            *sum = match (sum.take(), grad) {
                (Some(sum), Some(grad)) => Some(plus(&sum, &grad)),
                (sum, grad) => sum.or(grad),
            };
        }
    }
    sums
}

fn plus(sum: &[f64], grad: &[f64]) -> Vec<f64> {
    sum.iter().zip(grad).map(|(a, b)| rounded(a + b, DType::F32)).collect()
}
