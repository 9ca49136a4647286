//! Orders of axes: elements move and keep their bits.

use super::prelude::*;
use crate::OpInvocation::Permute;

/// Shapes, and orders of their axes.
const ORDERS: &str = "7:0 3x5:1x0 65x33:1x0 2x3x5:0x2x1 2x3x5:2x1x0 2x3x5:1x2x0 2x9x4x8:0x2x1x3 3x17x2x5:0x2x1x3 2x5x3x16:2x0x3x1 \
    2x3x4x5:3x0x2x1 1x3x1x4:2x3x0x1 2x1x3:1x0x2 2x3x2x2x3x2:5x3x1x4x2x0 2x2x2x2x2x2x2x3:7x5x3x1x6x4x2x0 0x3x2:2x0x1 4x300:1x0 \
    2x65x3x64:0x2x1x3 2x2x2x2x2x2x2x16:6x4x2x0x5x3x1x7";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [shape, axes] in sized(ORDERS) {
            let sentence = format!("{}_by_axes_{}", name(&shape), name(&axes));
            cases.add(dtype, sentence, move |run| {
                let codes = awkward(dtype).into_iter().cycle().take(shape.iter().product());
                // No two neighbours are alike, whatever the period of the codes.
                let codes =
                    codes.enumerate().map(|(at, code)| if at % 3 == 0 { at as u64 } else { code });
                let input = Stored::from_codes(dtype, &shape, codes);
                [0, 1, 3]
                    .into_iter()
                    .try_for_each(|offset| order(&mut run.at(offset), &input, &axes))
            });
        }
        cases.starts(dtype, move |run, seed, _| {
            order(run, &uniform(seed, dtype, &[3, 5, 16], [-1.0, 1.0]), &[1, 0, 2])
        });
    }
    let sentence = "axes_that_are_not_named_once_are_an_invalid_argument";
    let all = [(vec![0, 0], "2x3"), (vec![0], "2x3"), (vec![0, 2], "2x3"), (vec![0, 1, 2], "2x3")];
    let many = (vec![8, 7, 6, 5, 4, 3, 2, 1, 0], "1x2x1x1x1x1x1x1x1");
    let all = all.into_iter().chain([many]).map(|(axes, shape)| (Permute { axes }, shape));
    refusals(cases, sentence, ErrorKind::InvalidArgument, all);
}

fn order(run: &mut OpRun<'_>, input: &Stored, axes: &[usize]) -> Verdict {
    let codes: Vec<u64> = input.codes().collect();
    let wanted = permuted(&codes, &input.shape, axes);
    let wanted = Stored::code_vector(input.dtype, wanted);
    run.same(Permute { axes: axes.to_vec() }, &[input], &wanted)
}

// The oracle.

/// Returns the elements of `shape` with its axes in this order, each looked up by its index on every axis.
fn permuted(codes: &[u64], shape: &[usize], axes: &[usize]) -> Vec<u64> {
    let lookup = |mut at: usize| {
        let mut place = vec![0; shape.len()];
        for axis in axes.iter().rev() {
            place[*axis] = at % shape[*axis];
            at /= shape[*axis];
        }
        codes[place.iter().zip(shape).fold(0, |index, (place, extent)| index * extent + place)]
    };
    (0..codes.len()).map(lookup).collect()
}
