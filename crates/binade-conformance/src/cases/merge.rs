//! Joins: two passes' found-inf results become one, and neither of the two changes.
//!
//! The oracle joins two found-inf results by the documentation of [`ScaleStore`](binade_grad_scaler::ScaleStore).

use super::prelude::*;
use super::unscale::{Set, told, unscale, upload};
use crate::{MergeResult, MicroBatch};
use binade_grad_scaler::{MergeRule, ScaleState};

/// A pass on the kit's side.
#[derive(Clone)]
struct MergePass {
    set: Set,
    state: ScaleState,
}

impl MergePass {
    fn found(&self) -> FoundInf {
        unscale(&self.set, self.state).1
    }
}

/// Two passes and their results, of which each case checks one property.
struct Seen {
    got: MergeResult,
    wanted: FoundInf,
    passes: [MergePass; 2],
}

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for join in [MergeRule::Any, MergeRule::All] {
        overflows(cases, join);
        numbers(cases, join);
    }
}

/// Returns passes over different sets: finite, with an infinity, with a NaN, and with both.
fn passes(name: &'static str) -> Vec<MergePass> {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let all = [[4.0, -8.0, 2.0], [1.0, -inf, 0.5], [nan, 16.0, 3.0], [nan, inf, nan]];
    let state = ScaleState::from_exponent(3);
    let set = |values| vec![(name, Some(Stored::vector(DType::F32, values)))];
    all.map(|values| MergePass { set: set(values), state }).to_vec()
}

/// Adds a case that joins every pass over `a` with every pass over `b`, in both orders, and checks each join. With `halts`, every second pass is
/// halted, whatever it found.
fn add<S: Backend>(
    cases: &mut Cases<S>,
    (join, sentence, halts): (MergeRule, &str, bool),
    look: impl Fn(&mut Check, &Seen) -> Verdict + 'static,
) {
    let variant = if join == MergeRule::Any { "any" } else { "all" };
    cases.add(variant, sentence, move |s: &S, check| {
        for (i, mut a) in passes("a").into_iter().enumerate() {
            for (j, mut b) in passes("b").into_iter().enumerate() {
                a.state.diverged = halts && i.is_multiple_of(2);
                b.state.diverged = halts && !j.is_multiple_of(2);
                for [into, from] in [[&a, &b], [&b, &a]] {
                    look(check, &joined(s, join, [into.clone(), from.clone()])?)?;
                }
            }
        }
        Ok(())
    });
}

fn joined<S: Backend>(s: &S, join: MergeRule, passes: [MergePass; 2]) -> Result<Seen, CaseError> {
    let micro = |pass: &MergePass| {
        Ok::<_, CaseError>(MicroBatch { grads: upload(s, &pass.set)?, scale: pass.state })
    };
    let got = s.merge(micro(&passes[0])?, micro(&passes[1])?, join)?;
    let wanted = merge(&passes[0].found(), &passes[1].found(), join);
    Ok(Seen { got, wanted, passes })
}

fn same<T: std::fmt::Debug>(
    check: &mut Check,
    seen: &Seen,
    got: impl Fn(&FoundInf) -> T,
    wanted: T,
) -> Verdict {
    let inputs = seen.passes.each_ref().map(|pass| &pass.set);
    check.equal(inputs, format!("{:?}", got(&seen.got.joined)), format!("{wanted:?}"))
}

fn overflows<S: Backend>(cases: &mut Cases<S>, join: MergeRule) {
    let sentence = match join {
        MergeRule::Any => "it_overflows_where_either_does",
        MergeRule::All => "it_overflows_only_where_both_do",
    };
    add(cases, (join, sentence, false), |check, seen| {
        same(check, seen, |found| found.overflow.is_some(), seen.wanted.overflow.is_some())
    });
    let sentence = "it_keeps_the_place_of_the_first_overflow";
    add(cases, (join, sentence, false), |check, seen| {
        if seen.wanted.overflow.is_none() || seen.got.joined.overflow.is_none() {
            return Ok(());
        }
        let place =
            |found: &FoundInf| found.overflow.as_ref().map(|o| (o.parameter.to_string(), o.index));
        same(check, seen, place, place(&seen.wanted))
    });
    add(cases, (join, "it_is_halted_where_either_is", true), |check, seen| {
        let halted = seen.passes.iter().any(|pass| pass.state.diverged);
        let wanted = (halted, halted || seen.wanted.overflow.is_some());
        same(check, seen, |found| (found.halted, found.is_raised()), wanted)
    });
}

fn numbers<S: Backend>(cases: &mut Cases<S>, join: MergeRule) {
    add(cases, (join, "it_adds_counts_up", false), |check, seen| {
        let wanted = (seen.wanted.infinities, seen.wanted.nans);
        same(check, seen, |found| (found.infinities, found.nans), wanted)
    });
    add(cases, (join, "it_takes_the_larger_magnitude", false), |check, seen| {
        same(check, seen, |found| found.magnitude, seen.wanted.magnitude)
    });
    add(cases, (join, "it_has_no_norm_where_none_was_measured", false), |check, seen| {
        same(check, seen, |found| found.norm, None)
    });
    add(cases, (join, "what_the_two_read_stays_as_it_was", false), |check, seen| {
        let mut pairs = [&seen.got.into, &seen.got.from].into_iter().zip(&seen.passes);
        pairs.try_for_each(|(got, pass)| check.equal(&pass.set, told(got), told(&pass.found())))
    });
}

// The oracle.

/// Returns `from` joined into `into`. The names of missing gradients stay with the parts.
pub(super) fn merge(into: &FoundInf, from: &FoundInf, join: MergeRule) -> FoundInf {
    let [first, second] = [into, from].map(|found| found.overflow.is_some());
    let overflowed = match join {
        MergeRule::Any => first || second,
        MergeRule::All => first && second,
    };
    // "Keeps the place of the first overflow; a joined finding that did not overflow names none."
    let overflow = if first { &into.overflow } else { &from.overflow };
    FoundInf {
        overflow: overflow.clone().filter(|_| overflowed),
        infinities: into.infinities + from.infinities,
        nans: into.nans + from.nans,
        magnitude: if into.magnitude > from.magnitude { into.magnitude } else { from.magnitude },
        halted: into.halted || from.halted,
        ..FoundInf::default()
    }
}
