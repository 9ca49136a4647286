//! Joining: what two passes found becomes one finding, and neither of the two changes.
//!
//! The oracle joins two findings in the words of [`ScaleStore`](binade_grad_scaler::ScaleStore).

use super::prelude::*;
use super::unscale::{Found, Set, factor, tell, told, unscale, upload, values};
use crate::{MergeResult, MicroBatch};
use binade_grad_scaler::{MergeRule, ScaleState};

/// A pass on the kit's side.
#[derive(Clone)]
struct MergePass {
    set: Set,
    state: ScaleState,
}

impl MergePass {
    fn found(&self) -> Found {
        unscale(&values(&self.set), factor(&self.state)).1
    }
}

/// The two passes and what became of them, of which a case looks at one thing.
struct Seen {
    got: MergeResult,
    wanted: Found,
    passes: [MergePass; 2],
}

pub(super) fn add_cases<S: Subject>(cases: &mut Cases<S>) {
    for join in [MergeRule::Any, MergeRule::All] {
        overflows(cases, join);
        numbers(cases, join);
        halts(cases, join);
    }
}

fn variant(join: MergeRule) -> &'static str {
    match join {
        MergeRule::Any => "any",
        MergeRule::All => "all",
    }
}

/// Passes over sets of their own: finite, with an infinity, with a NaN, and with both.
fn passes(name: &'static str) -> Vec<MergePass> {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let all = [[4.0, -8.0, 2.0], [1.0, -inf, 0.5], [nan, 16.0, 3.0], [nan, inf, nan]];
    let state = ScaleState::from_exponent(3);
    let set = |values| vec![(name, Some(Stored::vector(DType::F32, values)))];
    all.map(|values| MergePass { set: set(values), state }).to_vec()
}

/// Joins every pass over `a` with every one over `b`, in both orders.
fn each<S: Subject>(
    s: &S,
    join: MergeRule,
    change: impl Fn(&mut MergePass, usize),
    mut look: impl FnMut(Seen) -> Verdict,
) -> Verdict {
    for (i, mut a) in passes("a").into_iter().enumerate() {
        for (j, mut b) in passes("b").into_iter().enumerate() {
            change(&mut a, i);
            change(&mut b, j + 1);
            for [into, from] in [[&a, &b], [&b, &a]] {
                look(joined(s, join, [into.clone(), from.clone()])?)?;
            }
        }
    }
    Ok(())
}

fn joined<S: Subject>(s: &S, join: MergeRule, passes: [MergePass; 2]) -> Result<Seen, CaseError> {
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

fn overflows<S: Subject>(cases: &mut Cases<S>, join: MergeRule) {
    let sentence = match join {
        MergeRule::Any => "it_overflows_where_either_does",
        MergeRule::All => "it_overflows_only_where_both_do",
    };
    cases.add(variant(join), sentence, move |s: &S, check| {
        each(
            s,
            join,
            |_, _| (),
            |seen| {
                same(check, &seen, |found| found.overflow.is_some(), seen.wanted.first.is_some())
            },
        )
    });
    let sentence = "it_keeps_the_place_of_the_first_overflow";
    cases.add(variant(join), sentence, move |s: &S, check| {
        each(
            s,
            join,
            |_, _| (),
            |seen| match &seen.got.joined.overflow {
                Some(_) if seen.wanted.first.is_some() => {
                    let place = |found: &FoundInf| {
                        found.overflow.as_ref().map(|o| (o.parameter.to_string(), o.index))
                    };
                    let wanted = seen.wanted.first.clone().map(|(name, index, ..)| (name, index));
                    same(check, &seen, place, wanted)
                }
                _ => Ok(()),
            },
        )
    });
}

fn numbers<S: Subject>(cases: &mut Cases<S>, join: MergeRule) {
    cases.add(variant(join), "it_adds_counts_up", move |s: &S, check| {
        each(
            s,
            join,
            |_, _| (),
            |seen| {
                let wanted = (seen.wanted.infinities, seen.wanted.nans);
                same(check, &seen, |found| (found.infinities, found.nans), wanted)
            },
        )
    });
    cases.add(variant(join), "it_takes_the_larger_magnitude", move |s: &S, check| {
        each(
            s,
            join,
            |_, _| (),
            |seen| same(check, &seen, |found| f64::from(found.magnitude), seen.wanted.magnitude),
        )
    });
    cases.add(variant(join), "it_has_no_norm_where_none_was_measured", move |s: &S, check| {
        each(s, join, |_, _| (), |seen| same(check, &seen, |found| found.norm, None))
    });
    cases.add(variant(join), "what_the_two_read_stays_as_it_was", move |s: &S, check| {
        each(
            s,
            join,
            |_, _| (),
            |Seen { got, passes, .. }| {
                for (got, pass) in [&got.into, &got.from].into_iter().zip(&passes) {
                    check.equal(&pass.set, told(got), tell(&pass.found(), pass.state.diverged))?;
                }
                Ok(())
            },
        )
    });
}

/// Every other pass halted, whatever it found.
fn halts<S: Subject>(cases: &mut Cases<S>, join: MergeRule) {
    cases.add(variant(join), "it_is_halted_where_either_is", move |s: &S, check| {
        let halt =
            |pass: &mut MergePass, number: usize| pass.state.diverged = number.is_multiple_of(2);
        each(s, join, halt, |seen| {
            let wanted = seen.passes.iter().any(|pass| pass.state.diverged);
            same(
                check,
                &seen,
                |found| (found.halted, found.is_raised()),
                (wanted, wanted || seen.wanted.first.is_some()),
            )
        })
    });
}

/// Agreement: bits. Counts and places are whole numbers, and the magnitude is one of the two.
pub(super) const AGREEMENT: Agrees = |_| Agreement::Bits;

// The oracle.

/// Returns `from` joined into `into`. The names of missing gradients stay with the parts.
pub(super) fn merge(into: &Found, from: &Found, join: MergeRule) -> Found {
    let overflowed = match join {
        MergeRule::Any => into.first.is_some() || from.first.is_some(),
        MergeRule::All => into.first.is_some() && from.first.is_some(),
    };
    // "Keeps the place of the first overflow; a joined finding that did not overflow names none."
    let first = if into.first.is_some() { &into.first } else { &from.first };
    Found {
        first: first.clone().filter(|_| overflowed),
        infinities: into.infinities + from.infinities,
        nans: into.nans + from.nans,
        magnitude: if into.magnitude > from.magnitude { into.magnitude } else { from.magnitude },
        missing: Vec::new(),
    }
}
