//! Cases that elementwise operations of two tensors share.

use super::{ComputeBackend, OpCases, ones, refusals, uniform};
use crate::cases::values::{Draw, awkward, in_every_lane, offsets};
use crate::cases::{FLOATS, SHORT};
use crate::{CaseGroup, Check, OpInvocation, Stored, Verdict};
use binade_core::{DType, ErrorKind};

/// An operation forward and backward, on operands that begin so many elements into a buffer.
type Both = fn(&dyn ComputeBackend, &mut Check, [&Stored; 2], usize) -> Verdict;

pub(in crate::cases) fn pairs(
    cases: &mut OpCases,
    op: CaseGroup,
    forward: &OpInvocation,
    both: Both,
) {
    for dtype in FLOATS {
        let two =
            move |length: usize| [1, 2].map(|i| uniform(i + length, dtype, &[length], [-2.0, 2.0]));
        for length in SHORT {
            cases.add(op, dtype, format!("all_of_{length}_elements"), move |s, check| {
                both(s, check, two(length).each_ref(), 0)
            });
        }
        cases.add(op, dtype, "starts_anywhere_in_a_buffer", move |s, check| {
            offsets()
                .try_for_each(|(offset, length)| both(s, check, two(length).each_ref(), offset))
        });
        let sentence = "any_two_patterns_nan_and_infinity_among_them";
        cases.add(op, dtype, sentence, move |s, check| patterns(s, check, dtype, both));
    }
    let all =
        [(DType::F32, [&[2, 3][..], &[3]]), (DType::F32, [&[1], &[3]]), (DType::F16, [&[2], &[2]])]
            .map(|(first, [a, b])| (forward.clone(), vec![ones(first, a), ones(DType::F32, b)]));
    refusals(cases, op, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all.into());
}

fn patterns(s: &dyn ComputeBackend, check: &mut Check, dtype: DType, both: Both) -> Verdict {
    let mut draw = Draw::new(7);
    let [a, b] = [0, 1].map(|_| {
        let codes: Vec<_> = (0..1000).map(|_| draw.code(dtype)).collect();
        Stored::from_codes(dtype, &[1000], codes)
    });
    both(s, check, [&a, &b], 0)?;
    awkward(dtype).into_iter().try_for_each(|code| {
        let all = in_every_lane(awkward(dtype));
        let a = Stored::from_codes(dtype, &[all.len()], vec![code; all.len()]);
        both(s, check, [&a, &Stored::from_codes(dtype, &[all.len()], all)], 0)
    })
}
