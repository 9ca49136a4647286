//! Parts of an axis: elements keep their bits, and gradients of the others are zero.

use super::prelude::*;
use crate::OpInvocation::{Narrow, NarrowBackward};

/// Shapes; axis, first place and number of places.
const PARTS: &str = "7:0x2x3 5x3:0x1x2 5x3:1x1x2 2x6x4:1x2x3 2x6x8:1x2x4 3x2x48:2x16x16 3x2x48:2x16x17 4x65:1x64x1 2x3x5x7:1x1x2 \
    9x2x3:0x0x9 2x5:1x5x0 0x4:1x1x2 3x4x0:1x1x2 2x3:0x0x0 1x9x16:1x3x2 300x33:1x16x16";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [shape, part] in sized(PARTS) {
            let sentence = format!("part_{}_of_{}", name(&part), name(&shape));
            cases.add(dtype, sentence, move |run| {
                let [axis, start, len] = part[..] else { unreachable!("three numbers") };
                let codes = awkward(dtype).into_iter().cycle().take(shape.iter().product());
                // No two neighbours are alike, whatever the period of the codes.
                let codes =
                    codes.enumerate().map(|(at, code)| if at % 3 == 0 { at as u64 } else { code });
                let input = Stored::from_codes(dtype, &shape, codes);
                [0, 1, 3]
                    .into_iter()
                    .try_for_each(|offset| both(&mut run.at(offset), &input, axis, [start, len]))
            });
        }
        cases.starts(dtype, move |run, seed, _| {
            both(run, &uniform(seed, dtype, &[3, 5, 16], [-1.0, 1.0]), 1, [1, 3])
        });
    }
    let narrow = |axis, start, len| Narrow { axis, start, len };
    let back = |axis, start| NarrowBackward { shape: vec![2, 3], axis, start };
    let sentence = "places_that_are_not_there_are_an_invalid_argument";
    let outside = [
        (narrow(2, 0, 1), "2x3"),
        (narrow(1, 1, 3), "2x3"),
        (narrow(0, 0, 1), "scalar"),
        (narrow(1, usize::MAX, 2), "2x3"),
        (back(1, 2), "2x2"),
        (back(2, 0), "2x3"),
    ];
    refusals(cases, sentence, ErrorKind::InvalidArgument, outside);
    mismatches(cases, [(narrow(0, 0, 1), "i64:2"), (back(1, 0), "3x2, 2, 2x2x1, i64:2x2")]);
    let shape = vec![HUGE, 4];
    too_large(cases, [(NarrowBackward { shape, axis: 1, start: 0 }, format!("{HUGE}x0").as_str())]);
}

/// Forward, and back.
fn both(run: &mut OpRun<'_>, input: &Stored, axis: usize, [start, len]: [usize; 2]) -> Verdict {
    let codes: Vec<u64> = input.codes().collect();
    let shape = input.shape.clone();
    let places = places(&shape, axis, start..start + len);
    let part: Vec<u64> = places.iter().map(|at| codes[*at]).collect();
    let wanted = Stored::code_vector(input.dtype, part.clone());
    run.same(Narrow { axis, start, len }, &[input], &wanted)?;
    let mut narrowed = shape.clone();
    narrowed[axis] = len;
    let grad = Stored::from_codes(input.dtype, &narrowed, part.iter().copied());
    let mut all = vec![0; codes.len()];
    places.iter().zip(part).for_each(|(at, code)| all[*at] = code);
    let wanted = Stored::code_vector(input.dtype, all);
    run.same(NarrowBackward { shape, axis, start }, &[&grad], &wanted)
}

// The oracle.

/// Indices of the elements whose place on the axis is one of `range`.
fn places(shape: &[usize], axis: usize, range: std::ops::Range<usize>) -> Vec<usize> {
    let inner: usize = shape[axis + 1..].iter().product();
    let count = shape.iter().product();
    (0..count).filter(|at| range.contains(&(at / inner % shape[axis]))).collect()
}
