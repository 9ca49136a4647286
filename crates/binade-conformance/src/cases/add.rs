//! Elementwise sum: rounded to `f32`, then to what it is stored in.

use super::ask::{Ask, Asks, Computes, ones, refusals, uniform, values};
use super::values::{Draw, awkward, offsets};
use super::{FLOATS, SHORT};
use crate::oracle::add::add as plus;
use crate::{Check, Compute, Operation::Add, Stored, Verdict};
use binade_core::{DType, ErrorKind};

pub(super) fn add(suite: &mut Asks) {
    for dtype in FLOATS {
        for length in SHORT {
            suite.add(Add, dtype, format!("all_of_{length}_elements"), move |s, check| {
                let [a, b] = [1, 2].map(|i| uniform(i + length, dtype, &[length], [-2.0, 2.0]));
                both(s, check, [&a, &b], 0)
            });
        }
        suite.add(Add, dtype, "starts_anywhere_in_a_buffer", move |s, check| {
            offsets().try_for_each(|(offset, length)| {
                let [a, b] = [1, 2].map(|i| uniform(i + length, dtype, &[length], [-2.0, 2.0]));
                both(s, check, [&a, &b], offset)
            })
        });
        let sentence = "any_two_patterns_nan_and_infinity_among_them";
        suite.add(Add, dtype, sentence, move |s, check| {
            let mut draw = Draw::new(7);
            let [a, b] = [0, 1].map(|_| {
                Stored::from_codes(
                    dtype,
                    &[1000],
                    (0..1000).map(|_| draw.code(dtype)).collect::<Vec<_>>(),
                )
            });
            both(s, check, [&a, &b], 0)?;
            awkward(dtype).into_iter().try_for_each(|code| {
                let all = awkward(dtype);
                let a = Stored::from_codes(dtype, &[all.len()], vec![code; all.len()]);
                both(s, check, [&a, &Stored::from_codes(dtype, &[all.len()], all)], 0)
            })
        });
    }
    let all = vec![
        (Compute::Add, vec![ones(DType::F32, &[2, 3]), ones(DType::F32, &[3])]),
        (Compute::Add, vec![ones(DType::F32, &[1]), ones(DType::F32, &[3])]),
        (Compute::Add, vec![ones(DType::F16, &[2]), ones(DType::F32, &[2])]),
    ];
    refusals(suite, Add, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
}

/// Forward, and the gradient handed on twice.
fn both(s: &dyn Computes, check: &mut Check, [a, b]: [&Stored; 2], offset: usize) -> Verdict {
    let sum = plus(&values(a), &values(b));
    Ask::new(Compute::Add, &[a, b]).at(offset).exact(s, check, [(a.dtype, sum)])?;
    let wanted = [a, a].map(|g| (g.dtype, values(g)));
    Ask::new(Compute::AddBackward, &[a]).at(offset).exact(s, check, wanted)
}
