//! Cases that elementwise operations of two tensors share.

use super::{OpCases, OpRun, ones, refusals, uniform};
use crate::cases::values::{Draw, awkward, in_every_lane};
use crate::cases::{FLOATS, SHORT};
use crate::{OpInvocation, Stored, Verdict};
use binade_core::{DType, ErrorKind};

/// An operation forward and backward, on operands that begin so many elements into a buffer.
type Both = fn(&mut OpRun<'_>, [&Stored; 2], usize) -> Verdict;

pub(in crate::cases) fn pairs(cases: &mut OpCases, forward: &OpInvocation, both: Both) {
    for dtype in FLOATS {
        let two =
            move |length: usize| [1, 2].map(|i| uniform(i + length, dtype, &[length], [-2.0, 2.0]));
        cases.lengths(dtype, SHORT, move |run, length| both(run, two(length).each_ref(), 0));
        cases.starts(dtype, move |run, offset, length| both(run, two(length).each_ref(), offset));
        let sentence = "any_two_patterns_nan_and_infinity_among_them";
        cases.add(dtype, sentence, move |run| patterns(run, dtype, both));
    }
    let all =
        [(DType::F32, [&[2, 3][..], &[3]]), (DType::F32, [&[1], &[3]]), (DType::F16, [&[2], &[2]])]
            .map(|(first, [a, b])| (forward.clone(), vec![ones(first, a), ones(DType::F32, b)]));
    refusals(cases, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all.into());
}

fn patterns(run: &mut OpRun<'_>, dtype: DType, both: Both) -> Verdict {
    let mut draw = Draw::new(7);
    let [a, b] = [0, 1].map(|_| {
        let codes: Vec<_> = (0..1000).map(|_| draw.code(dtype)).collect();
        Stored::from_codes(dtype, &[1000], codes)
    });
    both(run, [&a, &b], 0)?;
    awkward(dtype).into_iter().try_for_each(|code| {
        let all = in_every_lane(awkward(dtype));
        let a = Stored::from_codes(dtype, &[all.len()], vec![code; all.len()]);
        both(run, [&a, &Stored::from_codes(dtype, &[all.len()], all)], 0)
    })
}
