//! Cases that elementwise operations share: every length, starts, patterns, and operands that do not fit.

use super::{OpCases, OpRun, mismatches, uniform};
use crate::cases::values::{Draw, awkward, in_every_lane};
use crate::cases::{FLOATS, SHORT};
use crate::{OpInvocation, Stored, Verdict};
use binade_core::DType;

/// An operation of one tensor, forward and backward: `both` compares the two on values of `range`.
pub(in crate::cases) fn unary(
    cases: &mut OpCases,
    [forward, backward]: [OpInvocation; 2],
    range: [f64; 2],
    both: fn(&mut OpRun<'_>, &Stored) -> Verdict,
) {
    for dtype in FLOATS {
        let x = move |length: usize| uniform(length, dtype, &[length], range);
        cases.lengths(dtype, SHORT, move |run, length| both(run, &x(length)));
        cases.starts(dtype, move |run, _, length| both(run, &x(length)));
    }
    mismatches(cases, [(forward, "i64:2"), (backward, "2 3, f16:2 2")]);
}

/// An operation of two tensors forward and backward.
type Both = fn(&mut OpRun<'_>, [&Stored; 2]) -> Verdict;

pub(in crate::cases) fn binary(cases: &mut OpCases, forward: &OpInvocation, both: Both) {
    for dtype in FLOATS {
        let two =
            move |length: usize| [1, 2].map(|i| uniform(i + length, dtype, &[length], [-2.0, 2.0]));
        cases.lengths(dtype, SHORT, move |run, length| both(run, two(length).each_ref()));
        cases.starts(dtype, move |run, _, length| both(run, two(length).each_ref()));
        let sentence = "any_two_patterns_nan_and_infinity_among_them";
        cases.add(dtype, sentence, move |run| patterns(run, dtype, both));
    }
    mismatches(cases, [(forward.clone(), "2x3 3, 1 3, f16:2 2")]);
}

fn patterns(run: &mut OpRun<'_>, dtype: DType, both: Both) -> Verdict {
    let mut draw = Draw::new(7);
    let [a, b] = [0, 1].map(|_| Stored::code_vector(dtype, (0..1000).map(|_| draw.code(dtype))));
    both(run, [&a, &b])?;
    awkward(dtype).into_iter().try_for_each(|code| {
        let all = in_every_lane(awkward(dtype));
        let a = Stored::code_vector(dtype, vec![code; all.len()]);
        both(run, [&a, &Stored::code_vector(dtype, all)])
    })
}
