//! Concatenation: tensors one after the other along an axis, bit for bit.

use super::prelude::*;
use crate::OpInvocation::Cat;

/// Shapes of the first input, extents of all inputs on the axis, and the axis.
const INPUTS: &str = "3:3x4x0x1:0 2x3:2x1:0 2x3:3x4:1 2x3x5:1x2x3:1 2x3x8:8x8:2 2x3x8:16x8x24:2 5x2:2:1 2x0x3:0x2:1 2x1:1x1x1x1x1x1x1:1 \
    0x3:3x2:1 3x65:65x33:1 2x9x4:4x8:2 1x1:1x1:0";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [shape, extents, axis] in sized(INPUTS) {
            let sentence =
                format!("{}_with_{}_on_axis_{}", name(&shape), name(&extents), name(&axis));
            cases.add(dtype, sentence, move |run| {
                let inputs: Vec<Stored> = (0..extents.len())
                    .map(|at| input(dtype, &shape, axis[0], extents[at], at))
                    .collect();
                [0, 1, 3]
                    .into_iter()
                    .try_for_each(|offset| join(&mut run.at(offset), &inputs, axis[0]))
            });
        }
        cases.starts(dtype, move |run, seed, _| {
            let all = [3, 16, 5].map(|extent| uniform(seed, dtype, &[3, extent], [-1.0, 1.0]));
            join(run, &all, 1)
        });
    }
    let sentence = "an_axis_that_is_not_there_is_an_invalid_argument";
    refusals(cases, sentence, ErrorKind::InvalidArgument, [(Cat { axis: 2 }, "2x3 2x3, scalar")]);
    let misfits = "2x3 3x3, 2x3 2, 2x3 2x3x1, f16:2x3 2x3";
    mismatches(cases, [(Cat { axis: 1 }, misfits), (Cat { axis: 0 }, "i64:2 i64:2")]);
}

/// Returns input number `at`, whose codes differ from those of all others.
fn input(dtype: DType, shape: &[usize], axis: usize, extent: usize, at: usize) -> Stored {
    let mut shape = shape.to_vec();
    shape[axis] = extent;
    let count: usize = shape.iter().product();
    let special = awkward(dtype);
    let code = |i: usize| {
        if i.is_multiple_of(3) { (1000 * at + i) as u64 } else { special[i % special.len()] }
    };
    Stored::from_codes(dtype, &shape, (0..count).map(code).collect::<Vec<_>>())
}

fn join(run: &mut OpRun<'_>, inputs: &[Stored], axis: usize) -> Verdict {
    let operands: Vec<&Stored> = inputs.iter().collect();
    let wanted = Stored::code_vector(inputs[0].dtype, joined(&operands, axis));
    run.same(Cat { axis }, &operands, &wanted)
}

// The oracle.

/// Returns, for each index of the axes before, the elements of each input in turn.
fn joined(inputs: &[&Stored], axis: usize) -> Vec<u64> {
    let outer: usize = inputs[0].shape[..axis].iter().product();
    let each = |line: usize| {
        inputs.iter().flat_map(move |input| {
            let len = input.len() / outer;
            input.codes().skip(line * len).take(len)
        })
    };
    (0..outer).flat_map(each).collect()
}
