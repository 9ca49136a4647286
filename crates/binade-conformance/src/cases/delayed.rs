//! Delayed losses, which are unscaled once, at the end, by the scale that was in force when their window opened.
//!
//! The oracle adds the scaled gradients of several losses in `f32`, without those that are not finite, and divides once.

use super::accumulate::accumulate;
use super::prelude::*;
use super::unscale::{Set, one, same_grads, told, unscale, upload};
use crate::{DelayedPass, DelayedResult, DelayedRun};
use binade_grad_scaler::ScaleState;

/// A window on the kit's side.
#[derive(Clone, Debug)]
struct Window {
    start: ScaleState,
    passes: Vec<Set>,
    /// Values of the framework's own buffers at the end, where it adds up.
    buffers: Option<Set>,
}

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in FLOATS {
        sums(cases, dtype);
        bad(cases, dtype);
        buffers(cases, dtype);
    }
}

fn summed(exponent: i32, passes: Vec<Set>) -> Window {
    Window { start: ScaleState::from_exponent(exponent), passes, buffers: None }
}

/// Runs a window; between its losses the scaler goes elsewhere, as the updates of others would take it.
fn run<S: Backend>(s: &S, window: &Window) -> Result<DelayedResult<Tensor<S>>, CaseError> {
    let loss = loss();
    let pass = |(index, set): (i32, &Set)| {
        let exponent = window.start.exponent + 3 + index;
        let moved = ScaleState { diverged: index == 1, ..ScaleState::from_exponent(exponent) };
        Ok(DelayedPass { loss: put(s, &loss)?, grads: upload(s, set)?, moved })
    };
    let passes = (0..).zip(&window.passes).map(pass).collect::<Result<_, CaseError>>()?;
    let buffers = window.buffers.as_ref().map(|set| upload(s, set)).transpose()?;
    Ok(s.delayed(DelayedRun { start: window.start, passes, buffers })?)
}

fn loss() -> Stored {
    Stored::from_values(DType::F32, &[], [0.75])
}

/// Compares the gradients that the optimizer was given.
fn compare<S: Backend>(
    s: &S,
    check: &mut Check,
    window: &Window,
    got: &NamedGrads<Tensor<S>>,
    wanted: &[Option<Vec<f64>>],
) -> Verdict {
    let like = window.buffers.as_ref().unwrap_or(&window.passes[0]);
    same_grads(s, check, (like, got), wanted, Some(Agreement::Bits))
}

/// Everything that comes of a window in which the sums are the window's own.
fn by<S: Backend>(s: &S, check: &mut Check, window: &Window) -> Verdict {
    let wanted = delayed(&window.passes, window.start);
    let got = run(s, window)?;
    told_of(check, window, &got, &wanted)?;
    // A step that is skipped takes nothing, and so it may be given anything.
    if wanted.skipped { Ok(()) } else { compare(s, check, window, &got.grads, &wanted.grads) }
}

/// The verdict, and what is told of each pass and of the sum, without what is missing in it.
fn told_of<T>(
    check: &mut Check,
    window: &Window,
    got: &DelayedResult<T>,
    wanted: &CollectedValues,
) -> Verdict {
    let summary = &got.summary;
    check.equal(window, summary.skipped.to_string(), wanted.skipped.to_string())?;
    let tell = |found: &FoundInf| told(&FoundInf { missing: Vec::new(), ..found.clone() });
    let parts = summary.parts.iter().map(|part| (part.name.clone(), tell(&part.finding)));
    let passes = (0..window.passes.len()).map(|pass| format!("pass {pass}"));
    let names = passes.chain(["sum".to_owned()]);
    let listed: Vec<_> = names.zip(wanted.parts.iter().map(tell)).collect();
    let parts: Vec<_> = parts.collect();
    check.equal(window, format!("{parts:#?}"), format!("{listed:#?}"))
}

fn good(seed: usize, length: usize, dtype: DType) -> Set {
    one(Stored::vector(dtype, finite(seed, length, dtype, [-8.0, 8.0])))
}

fn sums<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "each_loss_is_scaled_by_the_scale_the_window_opened_with";
    cases.add(dtype, sentence, move |s: &S, check| {
        let passes: Vec<Set> = (1..4).map(|seed| good(seed, 9, dtype)).collect();
        let summed = summed(10, passes.clone());
        let wanted = Stored::from_values(DType::F32, &[], [0.75 * 1024.0]);
        for window in [Window { buffers: Some(passes[0].clone()), ..summed.clone() }, summed] {
            let losses = run(s, &window)?.losses;
            let wanted = vec![wanted.bytes.clone(); passes.len()];
            check.equal(&window, format!("{losses:?}"), format!("{wanted:?}"))?;
        }
        Ok(())
    });
    let mut add = |sentence: &str, window: Window| {
        cases.add(dtype, sentence, move |s: &S, check| by(s, check, &window));
    };
    let several = || (1..5).map(|seed| good(seed, 257, dtype)).collect();
    add("one_pass_is_its_own_sum", summed(10, vec![good(1, 257, dtype)]));
    add("the_sum_is_divided_once_by_the_scale_the_window_opened_with", summed(10, several()));
    let of = |x: f64| one(Stored::vector(dtype, [x, -x]));
    let ones = std::iter::once(of(2048.0)).chain((0..30).map(|_| of(1.0)));
    add("ones_add_up_beyond_2048", summed(4, ones.collect()));
    if dtype == DType::F16 {
        add("sums_beyond_f16_are_no_overflow", summed(12, vec![of(60000.0); 4]));
    }
    let pair = |a, b| vec![("a", a), ("b", b)];
    let some = |seed| good(seed, 33, dtype).remove(0).1;
    let lacking = vec![pair(some(1), None), pair(None, None), pair(some(2), None)];
    add("what_no_pass_has_the_sum_has_not", summed(10, lacking));
}

/// Passes and sums that are not finite.
fn bad<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "a_pass_that_overflows_is_named_and_skips_the_window";
    cases.add(dtype, sentence, move |s: &S, check| {
        for (number, code) in not_finite(dtype).into_iter().enumerate() {
            let mut passes: Vec<Set> = (1..4).map(|seed| good(seed, 3, dtype)).collect();
            passes[number % 3] = one(Stored::from_codes(dtype, &[3], [1, 2, code]));
            by(s, check, &summed(10, passes))?;
        }
        Ok(())
    });
    let mut add = |sentence: &str, window: Window| {
        cases.add(dtype, sentence, move |s: &S, check| by(s, check, &window));
    };
    let of = |values: &[f64]| one(Stored::vector(dtype, values.iter().copied()));
    // What a bad pass has besides would take the sum beyond f32, did it add it.
    let nan = of(&[f64::NAN, -1.0]);
    add(
        "a_pass_that_overflows_adds_nothing",
        summed(2, vec![of(&[1.0, 2.0]), nan, of(&[1.0, 2.0])]),
    );
    if dtype != DType::F16 {
        let twice = vec![of(&[1.0, 3e38]); 2];
        add("a_sum_that_is_not_finite_skips_as_the_part_sum", summed(2, twice));
        let once_divided = vec![of(&[1.0, 1.5e38]); 2];
        add("a_sum_that_is_infinite_only_once_divided_skips", summed(-2, once_divided));
    }
}

/// Adds a case of gradients that the framework adds up while scaled: the sum is divided once.
fn buffers<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &str, buffers: Set| {
        let passes = vec![good(1, 3, dtype); 3];
        let window = Window { buffers: Some(buffers.clone()), ..summed(10, passes) };
        cases.add(dtype, sentence, move |s: &S, check| {
            let (wanted, found) = unscale(&buffers, window.start);
            let got = run(s, &window)?;
            let skipped = found.is_raised();
            check.equal(&window, got.summary.skipped.to_string(), skipped.to_string())?;
            check.equal(&window, told(&got.summary.verdict), told(&found))?;
            if skipped { Ok(()) } else { compare(s, check, &window, &got.grads, &wanted) }
        });
    };
    let sentence = "buffers_are_divided_once_by_the_scale_the_window_opened_with";
    add(sentence, good(7, 257, dtype));
    let bad = Stored::vector(dtype, [1.0, f64::INFINITY, 2.0]);
    add("an_infinity_stays_in_its_buffer_and_skips_the_window", one(bad));
}

// The oracle.

/// Outcome of a window, as numbers.
#[derive(Clone, Debug)]
struct CollectedValues {
    /// The sum, divided by the scale; nothing for a parameter that no good pass had.
    grads: Vec<Option<Vec<f64>>>,
    /// Findings of each pass, and last of the sum.
    parts: Vec<FoundInf>,
    /// True where the step is skipped.
    skipped: bool,
}

/// The sum of `passes`, whose losses were multiplied by the scale of `start`.
fn delayed(passes: &[Set], start: ScaleState) -> CollectedValues {
    let still_scaled = |set: &Set| (set.clone(), ScaleState::from_exponent(0));
    let window: Vec<_> = passes.iter().map(still_scaled).collect();
    let mut parts: Vec<FoundInf> = window.iter().map(|(set, one)| unscale(set, *one).1).collect();
    let names = passes.iter().take(1).flatten().map(|(name, _)| *name);
    let stored = |sum: Option<Vec<f64>>| sum.map(|sum| Stored::vector(DType::F32, sum));
    let sum: Set = names.zip(accumulate(&window).into_iter().map(stored)).collect();
    let (grads, found) = unscale(&sum, start);
    parts.push(found);
    let skipped = parts.iter().any(FoundInf::is_raised);
    CollectedValues { grads, parts, skipped }
}
